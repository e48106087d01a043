/** The same measured several times. What is told is the median with the spread; never the best. */
import { type Bench, judged, type Result } from '../scenario.ts'
import { type Cpu, cpuPer } from './cpu.ts'

export interface Round {
  value: number
  /** What was used meanwhile, and for how many units of work. */
  cpu?: Cpu
  count?: number
  /** More of this round; told as the median where it is a number, else that of the last round. */
  detail?: Record<string, number | string>
}

export interface Spread {
  median: number
  min: number
  max: number
}

/** Of an even number of values the lower one in the middle: a value that was measured. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
  return { median: middle, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Measures `bench.rounds` times, one after the other, and says how each went. */
export async function inRounds<T>(
  bench: Bench,
  what: { name: string; unit: string; valueOf: (round: T) => number },
  measure: (round: number) => Promise<T>,
): Promise<T[]> {
  const rounds: T[] = []
  for (let round = 1; round <= bench.rounds; round++) {
    bench.progress(`${what.name}: round ${round} of ${bench.rounds}`)
    const measured = await measure(round)
    bench.progress(`${what.name}: round ${round}: ${shortNumber(what.valueOf(measured))} ${what.unit}`)
    rounds.push(measured)
  }
  return rounds
}

/** Measures each of them `bench.rounds` times, in turns: what the machine does to one it does to the others. */
export async function inTurns<Turn extends { name: string }, T>(
  bench: Bench,
  turns: readonly Turn[],
  what: { unit: string; valueOf: (round: T) => number },
  measure: (turn: Turn) => Promise<T>,
): Promise<Map<Turn, T[]>> {
  const measured = new Map(turns.map((turn): [Turn, T[]] => [turn, []]))
  for (let round = 0; round < bench.rounds; round++) {
    const first = round % turns.length
    // None of them is always the first.
    for (const turn of [...turns.slice(first), ...turns.slice(0, first)]) {
      const named = { ...what, name: `${turn.name}, turn ${round + 1}` }
      measured.get(turn)!.push(...(await inRounds({ ...bench, rounds: 1 }, named, () => measure(turn))))
    }
  }
  return measured
}

/** One result out of its rounds. */
export function resultOf(
  what: Omit<Result, 'value' | 'ok' | 'detail'> & { detail?: Result['detail'] },
  rounds: readonly Round[],
): Result {
  const { median, min, max } = spreadOf(rounds.map(({ value }) => value))
  const perRound = rounds.map(({ cpu, count, detail }) => ({
    ...(cpu !== undefined && cpuPer(cpu, count ?? 1)),
    ...detail,
  }))
  return judged({
    ...what,
    value: tidy(median),
    detail: { rounds: rounds.length, min: tidy(min), max: tidy(max), ...summary(perRound), ...what.detail },
  })
}

function summary(rounds: readonly Record<string, number | string>[]): Record<string, number | string> {
  const last = rounds.at(-1) ?? {}
  return Object.fromEntries(
    Object.entries(last).map(([key, value]) => {
      if (typeof value === 'string') return [key, value]
      const values = rounds.flatMap((round) => (typeof round[key] === 'number' ? [round[key]] : []))
      return [key, tidy(spreadOf(values).median)]
    }),
  )
}

/** Four digits are more than a measurement is good for. */
export function tidy(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) >= 1_000) return Math.round(value)
  return Number(value.toPrecision(4))
}

export function shortNumber(value: number): string {
  return tidy(value).toLocaleString('en-US', { maximumFractionDigits: 6 })
}
