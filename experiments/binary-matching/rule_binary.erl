%% Rule 1 kept: the head says that it takes a binary, the body matches.
-module(rule_binary).
-export([count/1]).

count(Binary) -> count(Binary, 0).

count(<<>>, Count) -> Count;
count(<<Binary/binary>>, Count) ->
    <<_Type:4/binary, _Size:4/binary, Rest/binary>> = Binary,
    count(Rest, Count + 1).
