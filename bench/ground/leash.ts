/** Loaded first in every process of the benchmark: none outlives the process that started it, however that ends. */
process.once('disconnect', () => process.exit(1))
