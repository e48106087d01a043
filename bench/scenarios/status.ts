/**
 * Executions read by id over 64 connections that are kept, each with its tenant's token: half of the reads anywhere in the
 * history, half among those of the last minute, of which some have run and some still wait. No worker runs meanwhile.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Installation } from '../ground/ground.ts'
import type { LoopAnswer } from '../load/closed-loop.ts'
import { submitNow } from '../load/create-jobs.ts'
import type { StatusIds, StatusOptions } from '../load/status.ts'
import { watchLoop } from '../load/watch-loop.ts'
import { cpuShares } from '../measure/cpu.ts'
import { inRounds, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const connections = 64
const load = new URL('../load/status.ts', import.meta.url)
const patienceMs = 60_000

export const scenario: Scenario = {
  name: 'status',
  summary: 'executions read by id over HTTP, 64 connections',
  async run(bench) {
    await using installation = await bench.ground.installation()
    const idsFile = join(bench.ground.folder, 'status-ids.json')
    const lists = await idsToRead(bench, installation)
    await writeFile(idsFile, JSON.stringify(lists))
    const seconds = bench.size(20, 5)
    const rounds = await inRounds(bench, { name: 'status', unit: '/s', valueOf: rateOf }, async () => {
      const { urls, tokens } = installation
      const options: StatusOptions = {
        url: urls[0]!,
        tokens,
        connections,
        seconds,
        warmUpSec: bench.size(3, 2),
        idsFile,
      }
      return watchLoop(bench, await bench.ground.generate<LoopAnswer>(load, options))
    })
    const [history, fresh] = lists.map((list) => list.length) as [number, number]
    return [
      resultOf(
        {
          ...{ name: 'status rate', unit: '/s', target: 7_000, better: 'higher' },
          detail: { connections, seconds, 'ids of the history': history, 'fresh ids': fresh },
        },
        rounds.map((round) => ({
          value: rateOf(round),
          cpu: round.cpu,
          count: round.answered,
          detail: cpuShares(round.cpu, round.seconds * 1_000),
        })),
      ),
      resultOf(
        { name: 'status p99', unit: 'ms', target: 20, better: 'lower' },
        rounds.map(({ p99Ms, p50Ms, maxMs }) => ({ value: p99Ms, detail: { 'p50 ms': p50Ms, 'longest ms': maxMs } })),
      ),
    ]
  },
}

async function idsToRead(bench: Bench, installation: Installation): Promise<StatusIds> {
  const since = await installation.now()
  const number = new Map(installation.tenants.map((tenant, n) => [tenant, n]))
  const history = await installation.query<{ id: string; tenant: string }>(
    `select execution_id id, tenant from carillon.executions where execution_id < carillon.first_id($1)
     order by random() limit $2`,
    [since, bench.size(200_000, 50_000)],
  )
  const fresh = bench.size(20_000, 5_000)
  {
    await using workers = await installation.startWorkers(1)
    await submitNow(installation, fresh)
    await workers.reached(fresh, patienceMs)
    await workers.stop()
  }
  await submitNow(installation, fresh)
  const recent = await installation.query<{ id: string; tenant: string }>(
    'select execution_id id, tenant from carillon.executions where execution_id >= carillon.first_id($1)',
    [since],
  )
  bench.progress(`${history.length} ids of the history; ${fresh} that have just run and ${fresh} that wait`)
  return [history, recent].map((rows) => rows.map(({ id, tenant }) => [id, number.get(tenant)!]))
}

function rateOf({ answered, seconds }: LoopAnswer): number {
  return answered / seconds
}
