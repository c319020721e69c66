%% Rule 1 not kept: the head takes a variable, the body matches.
-module(rule_variable).
-export([count/1]).

count(Binary) -> count(Binary, 0).

count(<<>>, Count) -> Count;
count(Binary, Count) when is_binary(Binary) ->
    <<_Type:4/binary, _Size:4/binary, Rest/binary>> = Binary,
    count(Rest, Count + 1).
