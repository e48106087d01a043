/** CPU of node and PostgreSQL for one execution, by the load of `life`, of several installations in turns. */
import type { Installation } from '../ground/ground.ts'
import type { Bench, Result } from '../scenario.ts'
import { judged } from '../scenario.ts'
import { live } from '../scenarios/life.ts'
import { cpuPer } from './cpu.ts'
import { inTurns, type Round, resultOf, tidy } from './rounds.ts'

export interface LifeTurn {
  name: string
  installation: Installation
  /** Executions name one of so many keys of a limit; null: none. */
  limitKeys?: number
}

export function cpuOf({ cpu, count }: Round): number {
  const per = cpuPer(cpu!, count!)
  return per['cpu node µs']! + per['cpu postgres µs']!
}

/** One result for each turn, in their order. */
export async function livesInTurns(
  bench: Bench,
  turns: readonly LifeTurn[],
  seconds = bench.size(60, 10),
): Promise<Result[]> {
  const measured = await inTurns(bench, turns, { unit: 'µs', valueOf: cpuOf }, ({ installation, limitKeys }) =>
    live(bench, installation, seconds, { limitKeys }),
  )
  return turns.map((turn) =>
    resultOf(
      { name: `${turn.name} node + PostgreSQL CPU`, unit: 'µs', target: null, better: 'lower', detail: { seconds } },
      measured.get(turn)!.map((round) => ({ ...round, value: cpuOf(round) })),
    ),
  )
}

export function ratioOf(name: string, [one, other]: readonly [Result, Result], target: number | null): Result {
  return judged({ name, value: tidy(one.value / other.value), unit: 'x', target, better: 'lower' })
}

/** What executions cost here and in another checkout, in databases of one server. */
export async function lifeBeside(
  bench: Bench,
  checkout: URL,
  { name, target }: { name: string; target: number },
): Promise<Result[]> {
  await using installation = await bench.ground.installation()
  await using other = await bench.ground.installation({ checkout })
  const [here, there] = (await livesInTurns(bench, [
    { name, installation },
    { name: `${name} beside`, installation: other },
  ])) as [Result, Result]
  return [here, there, ratioOf(`${name} CPU / beside`, [here, there], target)]
}
