"""How a conversation is made: roots, forks, children, copies; which one is current."""
