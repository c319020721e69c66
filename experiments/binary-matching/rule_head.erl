%% Rule 1 kept and more: the head matches all of it.
-module(rule_head).
-export([count/1]).

count(Binary) -> count(Binary, 0).

count(<<>>, Count) -> Count;
count(<<_Type:4/binary, _Size:4/binary, Rest/binary>>, Count) -> count(Rest, Count + 1).
