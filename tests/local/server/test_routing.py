import pytest

from forklore_local.server.routing import BadPathError, Function, Route, Routes


def function(*keys: str) -> Function:
    routes = tuple(Route("ANY", "") if key == "$default" else Route(*key.split()) for key in keys)
    return Function("F", "module", "handler", 1, 128, routes)


# The routes and the first six rows are the example of the API Gateway developer guide, "Create
# routes for HTTP APIs".
GUIDE = ["GET /pets/dog/1", "GET /pets/dog/{id}", "GET /pets/{proxy+}", "ANY /{proxy+}", "$default"]


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/pets/dog/1", "GET /pets/dog/1"),
        ("GET", "/pets/dog/2", "GET /pets/dog/{id}"),
        ("GET", "/pets/cat/1", "GET /pets/{proxy+}"),
        ("POST", "/test/5", "ANY /{proxy+}"),
        ("GET", "/", "$default"),
        ("GET", "/pets", "ANY /{proxy+}"),
        ("GET", "/pets/dog/2/", "GET /pets/{proxy+}"),
        ("HEAD", "/pets/dog/1", "ANY /{proxy+}"),
        ("OPTIONS", "/pets/dog/1", "ANY /{proxy+}"),
    ],
)
def test_the_most_specific_route_is_taken(method: str, path: str, key: str) -> None:
    match = Routes([function(*reversed(GUIDE))]).find(method=method, raw_path=path)

    assert match is not None
    assert match.route.key == key


@pytest.mark.parametrize(
    ("keys", "path", "key"),
    [
        (["GET /{a}/x", "GET /a/{b}"], "/a/x", "GET /a/{b}"),
        (["ANY /a", "GET /a"], "/a", "GET /a"),
        (["GET /a/{b+}", "ANY /{a}/{b}"], "/a/x", "ANY /{a}/{b}"),
    ],
)
def test_order_in_the_template_does_not_matter(keys: list[str], path: str, key: str) -> None:
    for several in (keys, keys[::-1]):
        match = Routes([function(one) for one in several]).find(method="GET", raw_path=path)
        assert match is not None
        assert match.route.key == key


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/things"),
        ("GET", "/v1/things/"),
        ("GET", "/v1/things/a/"),
        ("GET", "/v1//things/a"),
        ("GET", "/V1/things/a"),
        ("DELETE", "/v1/things/a"),
        ("GET", "/v1/greedy/"),
    ],
)
def test_without_a_default_route_other_requests_have_no_route(method: str, path: str) -> None:
    functions = [function("GET /v1/things/{id}", "GET /v1/greedy/{rest+}")]

    assert Routes(functions).find(method=method, raw_path=path) is None


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/a%2Fb/c", {"id": "a", "rest": "b/c"}),
        ("/a%252Fb/c", {"id": "a", "rest": "b/c"}),
        ("/a/b%3Fc=d/e", {"id": "a", "rest": "b"}),
        ("/a+b/c%2Bd/d%20e/", {"id": "a+b", "rest": "c+d/d e/"}),
        ("/%C3%A9/%F0%9F%A6%8A", {"id": "é", "rest": "🦊"}),
    ],
)
def test_a_path_is_decoded_as_recorded_events_of_api_gateway_show(
    path: str, parameters: dict[str, str]
) -> None:
    match = Routes([function("GET /{id}/{rest+}")]).find(method="GET", raw_path=path)

    assert match is not None
    assert match.path_parameters == parameters


@pytest.mark.parametrize("path", ["/100%25done", "/100%", "/a%2", "/a%zz"])
def test_a_per_cent_sign_that_escapes_nothing_is_refused(path: str) -> None:
    with pytest.raises(BadPathError):
        Routes([function("$default")]).find(method="GET", raw_path=path)
