import { describe, expect, it } from 'vitest'
import { newId } from '../domain/identity.ts'
import { cursorOf, idOfCursor } from './cursor.ts'

describe('a cursor', () => {
  it('is the id it came from', () => {
    const id = newId(1_700_000_000_000)
    expect(cursorOf(id)).toMatch(/^[A-Za-z0-9_-]{22}$/)
    expect(idOfCursor(cursorOf(id))).toBe(id)
  })

  it('of another list is refused', () => {
    for (const cursor of ['x', 'AAAA', 'A'.repeat(60)]) expect(() => idOfCursor(cursor)).toThrow('not a cursor')
  })
})
