/** What isolated handlers do in tests, by the first word of the payload. */
import { writeSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import { PermanentError, RetryLater } from '../../../errors.ts'
import type { HandlerContext } from '../../running/context.ts'

export default async function run(ctx: HandlerContext): Promise<unknown> {
  const what = ctx.payload as string
  switch (what) {
    case 'facts': {
      const { payload, executionId, attempt, fence, labels, lastProgress, deadline, dag } = ctx
      const isServerTime = Math.abs(ctx.now().getTime() - ctx.dueAt.getTime()) < 60_000
      return { payload, executionId, attempt, fence, labels, lastProgress, deadline, dag, isServerTime }
    }
    case 'who':
      return `${process.pid}/${threadId}`
    case 'progress':
      ctx.log('a line')
      ctx.heartbeat({ page: 3 })
      throw new Error('half-way')
    case 'later':
      throw new RetryLater(700)
    case 'never':
      throw new PermanentError('no point')
    case 'loop':
      for (;;);
    case 'say-and-end':
      process.stdout.write('here\n')
      return
    case 'say-and-loop':
      writeSync(1, 'here\n')
      for (;;);
    case 'listen':
      ctx.log('listening')
      ctx.heartbeat('listening')
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      throw ctx.signal.reason
    case 'exit':
      process.exit(7)
      break
    case 'uncaught':
      setTimeout(() => {
        throw new Error('out of the blue')
      })
      return new Promise(() => {})
    case 'memory': {
      const kept: unknown[] = []
      for (;;) kept.push(new Array(100_000).fill(kept.length))
    }
    case 'bad-result':
      return { f: () => 1 }
    case 'complete':
      await ctx.completeIn('tx', { n: 1 })
      return 'ignored'
  }
  return 'unknown'
}
