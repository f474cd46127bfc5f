# The same for an object that today's Ruby still gets memory for by xcalloc.
GC.disable;i=ARGV[0].to_i;while (i-=1)>0;Mutex.new;end
