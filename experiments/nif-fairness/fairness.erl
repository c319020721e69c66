%% What a node does while processes of it call native code: WAY WORKERS CALLS. The agent's process
%% is due every 10 ms.
-module(fairness).
-export([main/0]).

-define(EVERY_MS, 10).
-define(LENGTH, (1 bsl 20)).
-define(PASSES, 100).
-define(CHUNK, (1 bsl 16)).

main() ->
    [Way, Workers, Calls] = init:get_plain_arguments(),
    Call = call(Way),
    Binary = binary:copy(<<1>>, ?LENGTH),
    Self = self(),
    strobe_agent:start(?EVERY_MS),
    % Its processes are asleep when the others begin.
    timer:sleep(50),
    Work = fun() -> Self ! {done, calls(Call, Binary, list_to_integer(Calls), 0, 0)} end,
    Started = [spawn_link(Work) || _ <- lists:seq(1, list_to_integer(Workers))],
    Done = [receive {done, Each} -> Each end || _ <- Started],
    strobe_agent:stop(),
    io:format("slices ~b~n", [lists:sum([S || {_, S, _} <- Done])]),
    io:format("longest-slice-nanoseconds ~b~n", [lists:max([L || {_, _, L} <- Done])]),
    [io:format("sum ~b~n", [erlang:crc32(Result)]) || {Result, _, _} <- Done],
    halt(0).

%% One call with what it returns, its slices and the longest of them.
call("plain") -> fun(B) -> timed(fun() -> exor:plain(B, 16#55, ?PASSES) end) end;
call("chunks") -> fun(B) -> chunks(B, 0) end;
call("bumped") -> fun(B) -> chunks(B, 4000) end;
call("yielding") -> fun(B) -> exor:yielding(B, 16#55, ?PASSES) end;
call("dirty") -> fun(B) -> timed(fun() -> exor:dirty(B, 16#55, ?PASSES) end) end.

timed(Call) ->
    Begin = erlang:monotonic_time(nanosecond),
    Result = Call(),
    {Result, 1, erlang:monotonic_time(nanosecond) - Begin}.

%% The same work in short calls from Erlang; each is charged that many reductions.
chunks(Binary, Bump) -> chunks(Binary, Bump, [], 0, 0).

chunks(<<>>, _, Done, Slices, Longest) ->
    {iolist_to_binary(lists:reverse(Done)), Slices, Longest};
chunks(Binary, Bump, Done, Slices, Longest) ->
    <<Chunk:?CHUNK/binary, Rest/binary>> = Binary,
    {Result, _, Took} = timed(fun() -> exor:plain(Chunk, 16#55, ?PASSES) end),
    Bump > 0 andalso erlang:bump_reductions(Bump),
    chunks(Rest, Bump, [Result | Done], Slices + 1, max(Longest, Took)).

calls(Call, Binary, Calls, Slices, Longest) ->
    case {strobe_agent:call(fun() -> Call(Binary) end), Calls} of
        {{Result, S, L}, 1} -> {Result, Slices + S, max(Longest, L)};
        {{_, S, L}, _} -> calls(Call, Binary, Calls - 1, Slices + S, max(Longest, L))
    end.
