/** Follows an operation of the node: a bar on a terminal, else a line at the end. */
import { setTimeout as after } from 'node:timers/promises'
import type { Operation } from '@carillon/contract'
import { Presets, SingleBar } from 'cli-progress'
import type { Context } from './context.ts'
import { exitCodes, Negative } from './failure.ts'
import { duration } from './times.ts'

const askEveryMs = 250

/** Returns when the operation has ended. Ctrl-C leaves it going on and says how to stop it. */
export async function follow({ node, out }: Context, started: Operation): Promise<Operation> {
  const bar = out.moving
    ? new SingleBar({ hideCursor: true, stream: process.stderr, format }, Presets.shades_grey)
    : null
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  process.once('SIGINT', interrupt)
  bar?.start(started.total ?? 0, started.done, { kind: started.kind.toLowerCase(), total_: total(started) })
  let operation = started
  try {
    while (operation.state === 'RUNNING') {
      await after(askEveryMs, undefined, { signal: interrupted.signal }).catch(() => {})
      if (interrupted.signal.aborted) break
      operation = await node.call('getOperation', { params: { operationId: started.operationId } })
      const looked = operation.done + operation.skipped
      if (operation.total !== null) bar?.setTotal(Math.max(operation.total, looked))
      bar?.update(looked, { total_: total(operation) })
    }
  } finally {
    bar?.stop()
    process.off('SIGINT', interrupt)
  }
  if (interrupted.signal.aborted) {
    out.note(`It goes on by itself. To stop it: carillon operations cancel ${started.operationId}`)
    throw new Negative('', exitCodes.INTERRUPTED)
  }
  return operation
}

const format = '{kind} [{bar}] {percentage}% | {value} of {total_} | {duration_formatted}'

function total(operation: Operation): string {
  return operation.total === null ? '?' : String(Math.max(operation.total, operation.done + operation.skipped))
}

/** Follows it and says how it ended. */
export async function followToEnd(context: Context, started: Operation, verb: string): Promise<void> {
  const { out } = context
  const ended = await follow(context, started)
  out.document(ended)
  const took =
    ended.finishedAt === null ? '' : ` in ${duration(Date.parse(ended.finishedAt) - Date.parse(ended.createdAt))}`
  const why = ended.kind === 'COPY' ? 'they cannot be copied' : 'they had moved on'
  const skipped = ended.skipped > 0 ? `; ${ended.skipped} left alone, ${why}` : ''
  out.line(`${out.state(ended.state)(ended.state)}  ${ended.done} ${verb}${took}${skipped}`)
  if (ended.state !== 'SUCCEEDED') throw new Negative(ended.error ?? '')
}
