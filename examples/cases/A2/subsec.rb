# A time whose fraction of a second is none, as the division then has no remainder.
time = Time.at(0)
i = ARGV[0].to_i
while i > 0
  time.subsec
  i -= 1
end
