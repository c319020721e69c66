%% The edit distance of two strings of 36 characters, by one of three ways: WAY.
-module(distance).
-export([main/0, native/2]).
-on_load(load/0).

load() -> erlang:load_nif(filename:rootname(code:which(?MODULE)), 0).

native(_, _) -> erlang:nif_error(not_loaded).

main() ->
    [Way] = init:get_plain_arguments(),
    A = "the quick brown fox jumped over dogs",
    B = "a quicker brown fix jumps over a dog",
    {X, Y} = {list_to_binary(A), list_to_binary(B)},
    {Call, Times} =
        case Way of
            "table" -> {fun() -> table(A, B) end, 10};
            "rows" -> {fun() -> rows(A, B) end, 600};
            "native" -> {fun() -> native(X, Y) end, 8000}
        end,
    repeat(Call, Times),
    Begin = erlang:monotonic_time(nanosecond),
    repeat(Call, Times),
    Took = erlang:monotonic_time(nanosecond) - Begin,
    io:format("call-nanoseconds ~b~n", [max(1, Took div Times)]),
    io:format("calls ~b~n", [calls(Call)]),
    io:format("distance ~b~n", [Call()]),
    halt(0).

%% How many functions of this module and of dict one call calls.
calls(Call) ->
    Count = fun(On) -> [erlang:trace_pattern({M, '_', '_'}, On, [local, call_count]) || M <- [?MODULE, dict]] end,
    Count(true),
    Call(),
    Count(pause),
    Known = [{M, F, A} || M <- [?MODULE, dict], {F, A} <- M:module_info(functions)],
    lists:sum([N || MFA <- Known, {_, N} <- [erlang:trace_info(MFA, call_count)], is_integer(N)]).

repeat(_, 0) -> ok;
repeat(Call, Times) -> Call(), repeat(Call, Times - 1).

%% The definition, with a table of what is known already, as a dict.
table(A, B) -> element(1, table(A, B, dict:new())).

table([], B, Known) -> {length(B), Known};
table(A, [], Known) -> {length(A), Known};
table([Same | A], [Same | B], Known) -> table(A, B, Known);
table([_ | RestA] = A, [_ | RestB] = B, Known) ->
    case dict:find({A, B}, Known) of
        {ok, Distance} -> {Distance, Known};
        error ->
            {Deleted, Known1} = table(RestA, B, Known),
            {Inserted, Known2} = table(A, RestB, Known1),
            {Changed, Known3} = table(RestA, RestB, Known2),
            Distance = 1 + min(Deleted, min(Inserted, Changed)),
            {Distance, dict:store({A, B}, Distance, Known3)}
    end.

%% Row by row, as the native code does it.
rows(A, B) -> rows(A, B, lists:seq(0, length(B)), 1).

rows([], _, Row, _) -> lists:last(Row);
rows([Char | A], B, [Diagonal | Above], Number) ->
    rows(A, B, [Number | row(Char, B, Diagonal, Above, Number)], Number + 1).

row(_, [], _, [], _) -> [];
row(Char, [Other | B], Diagonal, [Up | Above], Left) ->
    Changed = if Char =:= Other -> Diagonal; true -> Diagonal + 1 end,
    Distance = min(Changed, min(Up, Left) + 1),
    [Distance | row(Char, B, Up, Above, Distance)].
