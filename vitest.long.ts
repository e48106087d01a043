/** Tests that take minutes of their own: short forms of the proofs, servers that are started and killed, a node of every kind. */
export const long = [
  'proof/**/*.test.ts',
  'test/cluster/**/*.test.ts',
  'test/conformance/etcd/leadership.test.ts',
  'test/conformance/redis/{due-source-losses,liveness,topologies}.test.ts',
  'test/conformance/kafka/queue-losses.test.ts',
  'test/outside/bad-rows.test.ts',
  'test/scale-out/**/*.test.ts',
  'test/integration/{bench,bench-scale-out,embedded-postgres,examples}.test.ts',
  'test/integration/{plans,hostile}/*.test.ts',
  'test/integration/races/dags.test.ts',
  'test/integration/upkeep/database-restart.test.ts',
  'test/integration/life/{stop-without-database,throughput}.test.ts',
]
