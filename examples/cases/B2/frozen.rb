# The same loop, which makes no object.
i = 0
while i < 5_000_000
  str = "a".freeze
  i += 1
end
