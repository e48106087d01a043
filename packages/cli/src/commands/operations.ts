import type { Operation } from '@carillon/contract'
import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { followToEnd } from '../progress.ts'
import { when } from '../times.ts'

/** `carillon operations …`: bulk work and backfills that run in the background. */
export function registerOperations(program: Command): void {
  const operations = program.command('operations').description('long work that goes on by itself: get, wait, cancel')
  operations
    .command('get <id>')
    .description('how far it has come')
    .action(
      act(async (context, _, operationId: string) => {
        show(context, await context.node.call('getOperation', { params: { operationId } }))
      }),
    )
  operations
    .command('wait <id>')
    .description('wait until it has ended')
    .action(
      act(async (context, _, operationId: string) => {
        const operation = await context.node.call('getOperation', { params: { operationId } })
        await followToEnd(context, operation, 'done')
      }),
    )
  operations
    .command('cancel <id>')
    .description('stop it; what is done stays done')
    .action(
      act(async (context, _, operationId: string) => {
        show(context, await context.node.call('cancelOperation', { params: { operationId } }))
      }),
    )
}

function show({ out, now }: Context, operation: Operation): void {
  out.record(operation, [
    ['operation', operation.operationId],
    ['kind', operation.kind],
    ['state', operation.state, out.state(operation.state)],
    ['done', `${operation.done} of ${operation.total ?? '?'}`],
    ['left alone', operation.skipped],
    ['by', operation.createdBy],
    ['since', when(operation.createdAt, now())],
    ['finished', operation.finishedAt && when(operation.finishedAt, now())],
    ['error', operation.error],
  ])
}
