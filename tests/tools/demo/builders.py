"""The result of loading a tree, without a server."""

from forklore.cli.importing.plan import Place, plan_tree
from forklore.cli.importing.steps import Loading
from forklore.cli.importing.values import Report, Tree
from tools.demo.loaded import LoadedTree, loaded_tree


def as_loaded(tree: Tree) -> LoadedTree:
    """Return a tree as if it had been loaded: entries e0-0, e0-1, e1-0, … by their place."""
    plan = plan_tree(tree, owner="ann", report=Report())
    loading = Loading(plan)
    for number, conversation in enumerate(plan.conversations):
        for index in range(len(conversation.entries)):
            loading.placed[Place(number, index)] = (conversation.conversation_id, f"e{number}-{index}")
    return loaded_tree(tree, loading)
