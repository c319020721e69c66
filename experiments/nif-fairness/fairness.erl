%% How late a process wakes that is due every 10 ms while others call native code: WAY WORKERS CALLS.
-module(fairness).
-export([main/0]).

-define(EVERY, 10_000_000).
-define(LENGTH, (1 bsl 20)).
-define(PASSES, 100).
-define(CHUNK, (1 bsl 16)).

main() ->
    [Way, Workers, Calls] = init:get_plain_arguments(),
    Call = call(Way),
    Binary = binary:copy(<<1>>, ?LENGTH),
    Self = self(),
    Probe = spawn_link(fun() -> probe(erlang:monotonic_time(nanosecond) + ?EVERY, []) end),
    % It is asleep when the others begin.
    timer:sleep(50),
    Begin = erlang:monotonic_time(nanosecond),
    Work = fun() -> Self ! {done, work(Call, Binary, list_to_integer(Calls))} end,
    Started = [spawn_link(Work) || _ <- lists:seq(1, list_to_integer(Workers))],
    Done = [receive {done, Each} -> Each end || _ <- Started],
    End = erlang:monotonic_time(nanosecond),
    Probe ! {stop, Self},
    Late = receive {late, All} -> [L || {Due, L} <- All, Due >= Begin, Due < End] end,
    [io:format("lateness-nanoseconds ~b~n", [L]) || L <- Late],
    io:format("call-nanoseconds ~b~n", [(End - Begin) div list_to_integer(Calls)]),
    Reductions = [R || {_, R, _, _} <- Done],
    io:format("reductions-per-call ~b~n", [lists:sum(Reductions) div length(Done) div list_to_integer(Calls)]),
    io:format("slices ~b~n", [lists:sum([S || {_, _, S, _} <- Done])]),
    io:format("longest-slice-nanoseconds ~b~n", [lists:max([L || {_, _, _, L} <- Done])]),
    [io:format("sum ~b~n", [erlang:crc32(Result)]) || {Result, _, _, _} <- Done],
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

work(Call, Binary, Calls) ->
    {reductions, Before} = process_info(self(), reductions),
    {Result, Slices, Longest} = calls(Call, Binary, Calls, 0, 0),
    {reductions, After} = process_info(self(), reductions),
    {Result, After - Before, Slices, Longest}.

calls(Call, Binary, 1, Slices, Longest) ->
    {Result, S, L} = Call(Binary),
    {Result, Slices + S, max(Longest, L)};
calls(Call, Binary, Calls, Slices, Longest) ->
    {_, S, L} = Call(Binary),
    calls(Call, Binary, Calls - 1, Slices + S, max(Longest, L)).

%% Lateness counts from the schedule: one long sleep is many late times.
probe(Due, Late) ->
    Wait = max(0, Due - erlang:monotonic_time(nanosecond)) div 1_000_000,
    receive {stop, To} -> To ! {late, lists:reverse(Late)}
    after Wait ->
        case erlang:monotonic_time(nanosecond) of
            Now when Now >= Due -> overdue(Due, Now, Late);
            _ -> erlang:yield(), probe(Due, Late)
        end
    end.

overdue(Due, Now, Late) when Due =< Now -> overdue(Due + ?EVERY, Now, [{Due, Now - Due} | Late]);
overdue(Due, _, Late) -> probe(Due, Late).
