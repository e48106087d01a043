/**
 * An installation with all settings of scale-out (etcd elects, Redis has the hot window, signals, heartbeats and status, Kafka tells what is
 * ready) beside one with PostgreSQL alone, in turns, with CPU by server. Four parts: what executions cost PostgreSQL, whole lives,
 * fail-over, idle pick-up. What must stay true:
 *
 * - The sides take turns in every part, and only the nodes of the side whose turn it is are running.
 * - Ratios are those of the medians of this run.
 * - Messages are known to go through Kafka before anything is measured, and every result tells how often nodes fell back to PostgreSQL because
 *   a server did not answer in time: with many of these, PostgreSQL alone was measured.
 */
import { measureCost } from '../scale-out/cost.ts'
import { measureFailover } from '../scale-out/failover.ts'
import { measureLife } from '../scale-out/life.ts'
import { measurePickup } from '../scale-out/pickup.ts'
import type { Result, Scenario } from '../scenario.ts'

const parts = { cost: measureCost, life: measureLife, failover: measureFailover, pickup: measurePickup }

export const scenario: Scenario = {
  name: 'scale-out',
  summary: 'etcd, Redis and Kafka beside PostgreSQL alone: CPU, whole lives, fail-over, pick-up; needs these servers',
  limitMinutes: 90,
  quickLimitMinutes: 8,
  parts: Object.keys(parts),
  async run(bench) {
    const results: Result[] = []
    for (const [name, measure] of Object.entries(parts)) {
      if (bench.part === null || bench.part === name) results.push(...(await measure(bench)))
    }
    return results
  },
}
