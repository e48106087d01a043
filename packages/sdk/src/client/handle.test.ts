import { describe, expect, it, vi } from 'vitest'
import { type EndedExecution, ExecutionFailed, ExecutionHandle } from './handle.ts'

async function* noLines() {}

function handle(execution: Partial<EndedExecution> | null, ended = true) {
  const read = vi.fn(
    async () => execution && ({ executionId: 'e', reason: null, error: null, ...execution } as EndedExecution),
  )
  const wait = vi.fn(async (_waitMs?: number) => ended)
  return { read, wait, handle: new ExecutionHandle<number>('e', { read, wait, follow: noLines }) }
}

describe('the handle of an execution', () => {
  it('gives what the handler returned', async () => {
    const { handle: one, wait } = handle({ state: 'SUCCEEDED', result: 5 })
    expect(await one.result({ waitMs: 20 })).toBe(5)
    expect(wait).toHaveBeenCalledWith(20)
  })

  it('throws what became of it otherwise, with the reason', async () => {
    const dead = handle({ state: 'DEAD', error: { name: 'CardDeclined', message: 'no money' } }).handle.result()
    await expect(dead).rejects.toThrow('Execution e is DEAD (CardDeclined: no money)')
    await expect(dead).rejects.toBeInstanceOf(ExecutionFailed)
    const skipped = handle({ state: 'SKIPPED', reason: 'EXPIRED' }).handle.result()
    await expect(skipped).rejects.toThrow('Execution e is SKIPPED (EXPIRED)')
    await expect(handle({ state: 'CANCELLED' }).handle.result()).rejects.toThrow(/CANCELLED$/)
  })

  it('gives the execution however it ended', async () => {
    expect(await handle({ state: 'DEAD' }).handle.ended()).toMatchObject({ state: 'DEAD' })
  })

  it('throws when it has not ended in time, and does not read it', async () => {
    const { handle: one, read } = handle({ state: 'RUNNING' }, false)
    await expect(one.ended({ waitMs: 1 })).rejects.toThrow('has not ended within 1 ms')
    expect(read).not.toHaveBeenCalled()
  })

  it('gives the execution as it stands, null before it has fired', async () => {
    expect(await handle(null).handle.execution()).toBeNull()
  })
})
