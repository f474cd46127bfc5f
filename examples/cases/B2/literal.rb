# ko1's loop: a string literal for every round.
i = 0
while i < 5_000_000
  str = "a"
  i += 1
end
