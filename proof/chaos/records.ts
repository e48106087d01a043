/** What a failing run leaves behind: its seed, what was violated, the whole history, and the logs of every process. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { History, Violation } from '../history.ts'
import type { Stage } from './stage.ts'

interface FailedRun {
  seed: number
  /** The command that runs it again. */
  again: string
  violations: Violation[]
  history: History | null
  /** Why it did not come to its end, if it did not. */
  error?: unknown
}

export interface RecordsOptions {
  seed: number
  /** Where a failing run leaves its records; without it they are gone with the run. */
  records?: { folder: string; again: string }
  signal: AbortSignal
  log: (line: string) => void
}

/** Runs it, and keeps its records if something was violated or it did not come to its end. */
export async function keepingRecords<R extends { violations: Violation[]; history: History }>(
  stage: Stage,
  { seed, records, signal, log }: RecordsOptions,
  run: () => Promise<R>,
): Promise<R & { records?: string }> {
  const keep = async (failed: Omit<FailedRun, 'seed' | 'again'>) => {
    const place = await keepRecords(records!.folder, stage, { seed, again: records!.again, ...failed })
    log(`the records and logs of seed ${seed} are in ${place}`)
    return place
  }
  try {
    const result = await run()
    if (!records || result.violations.length === 0) return result
    return { ...result, records: await keep({ violations: result.violations, history: result.history }) }
  } catch (error) {
    if (records && !signal.aborted) await keep({ violations: [], history: null, error })
    throw error
  }
}

/** Replaces what an earlier run of the same seed left there. Answers where it is. */
async function keepRecords(folder: string, stage: Stage, failed: FailedRun): Promise<string> {
  const place = join(folder, `seed-${failed.seed}`)
  await rm(place, { recursive: true, force: true })
  await mkdir(place, { recursive: true })
  const { history, violations, error, ...run } = failed
  const summary = { ...run, error: error === undefined ? undefined : describeError(error), violations }
  await writeFile(join(place, 'violations.json'), `${JSON.stringify(summary, null, 2)}\n`)
  if (history !== null) await writeFile(join(place, 'history.json'), historyText(history))
  await stage.copyLogs(place)
  return place
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** One row per line, so that `grep` finds an execution. */
function historyText(history: History): string {
  const parts = Object.entries(history).map(([name, value]) => {
    const text = Array.isArray(value)
      ? `[\n${value.map((each) => JSON.stringify(each)).join(',\n')}\n]`
      : JSON.stringify(value)
    return `${JSON.stringify(name)}: ${text}`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}
