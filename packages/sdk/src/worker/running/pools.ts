import { CarillonError } from '@carillon/contract'
import type { Logger } from '@carillon/contract/process'
import { IsolatedExecutor } from '../isolation/executor.ts'
import { type Executor, InProcessExecutor } from './executor.ts'
import { HandlerSlots, PoolSlots } from './handler-slots.ts'
import { checkHandler, type RegisteredHandler } from './registered-handler.ts'

export interface PoolsOptions {
  completeInModule: string | undefined
  logger: Logger
}

/** The pools of a worker from its handlers, each handler with its slots and the place where it runs. */
export function arrangePools(handlers: RegisteredHandler[], options: PoolsOptions): PoolSlots[] {
  const pools = new Map<string, PoolSlots>()
  for (const handler of handlers) {
    checkHandler(handler)
    const { name, pool: poolName } = handler.definition
    const pool = pools.get(poolName) ?? new PoolSlots(poolName)
    if (pool.handlers.has(name)) {
      throw new CarillonError('VALIDATION', { message: `Handler ${name} is registered twice in pool ${poolName}` })
    }
    pool.add(new HandlerSlots(handler, pool, executorOf(handler, options)))
    pools.set(poolName, pool)
  }
  return [...pools.values()]
}

function executorOf(handler: RegisteredHandler, options: PoolsOptions): Executor {
  const isolated = handler.isolation !== undefined && handler.isolation !== 'NONE'
  return isolated ? new IsolatedExecutor(handler, options) : new InProcessExecutor(handler)
}
