i = 0
while i < 5_000_000
  i += 1
  str = "a"
end
