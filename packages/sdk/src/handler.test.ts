import { CarillonError } from '@carillon/contract'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineHandler, type HandlerDefinition, validatePayload } from './handler.ts'
import { implementHandler, type RegisteredHandler } from './worker/running/registered-handler.ts'

const remind = defineHandler({
  name: 'remind',
  pool: 'mail',
  payload: z.object({ to: z.string(), at: z.coerce.date(), items: z.array(z.object({ n: z.number() })).default([]) }),
  result: z.object({ sent: z.boolean() }),
})

describe('defineHandler', () => {
  test('is frozen and has defaults', () => {
    const plain = defineHandler({ name: 'plain' })
    expect(plain).toEqual({ name: 'plain', pool: 'default' })
    expect(Object.isFrozen(plain)).toBe(true)
  })

  test('infers what is enqueued, what the handler sees and what it returns', () => {
    const handler = implementHandler(remind, async (ctx) => {
      expectTypeOf(ctx.payload).toEqualTypeOf<{ to: string; at: Date; items: { n: number }[] }>()
      return { sent: true }
    })
    expectTypeOf(handler).toExtend<RegisteredHandler>()
    expectTypeOf(remind).toExtend<HandlerDefinition>()
    const byHand = defineHandler<{ days: number }>({ name: 'by_hand' })
    implementHandler(byHand, (ctx) => expectTypeOf(ctx.payload).toEqualTypeOf<{ days: number }>())
    // @ts-expect-error: the payload of `by_hand` has days
    void validatePayload(byHand, { hours: 1 }).catch(() => {})
    // @ts-expect-error: the result of `remind` is not a string
    implementHandler(remind, async () => 'sent')
  })

  test.each([
    ['', /empty/],
    ['x'.repeat(201), /201 characters/],
    ['a\0b', /control/],
    ['a\nb', /control/],
    ['a\ud800', /surrogate/],
    [42, /string/],
  ])('refuses the name %j', (name, problem) => {
    expect(() => defineHandler({ name: name as string })).toThrow(problem)
    expect(() => defineHandler({ name: 'fine', pool: name as string })).toThrow(problem)
  })
})

describe('validatePayload', () => {
  test('stores what was given, not what the schema made of it', async () => {
    const text = await validatePayload(remind, { to: 'ada', at: '2030-01-01T00:00:00Z' })
    expect(JSON.parse(text)).toEqual({ to: 'ada', at: '2030-01-01T00:00:00Z' })
  })

  test('asks the schema about what will come out of JSON', async () => {
    const dated = defineHandler({ name: 'dated', payload: z.object({ at: z.date() }) })
    await expect(validatePayload(dated, { at: new Date() })).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
    await expect(validatePayload(remind, { to: 'ada', at: new Date(0) })).resolves.toContain('1970')
  })

  test('points at what does not fit', async () => {
    const wrong = { to: 'ada', at: 'never', items: [{ n: 1 }, { n: 'x' }] }
    const error = await validatePayload(remind as HandlerDefinition, wrong).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(CarillonError)
    expect((error as CarillonError).errors.map(({ pointer }) => pointer).sort()).toEqual([
      '/payload/at',
      '/payload/items/1/n',
    ])
  })
})
