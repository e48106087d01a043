import { describe, expect, it } from 'vitest'
import { listPathProblems } from './list-path.ts'

describe('the way to a list', () => {
  it.each([
    'files',
    'results',
    'resultsx.a',
    'payload.',
    'payload..a',
    'payload[a]',
    'payload["a]',
    'results[0]',
    'payload a',
  ])('is not %s', (text) => {
    expect(listPathProblems(text, [])).toMatchObject([{ message: expect.stringContaining('is not the way to a list') }])
  })

  it('begins with a step that it depends on', () => {
    expect(listPathProblems('results.find.files', ['find'])).toEqual([])
    expect(listPathProblems('payload', [])).toEqual([])
    expect(listPathProblems('results.fnd.files', ['find'])).toMatchObject([{ hint: 'Add fnd to its dependsOn' }])
  })
})
