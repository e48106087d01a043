import { expect, test } from 'vitest'
import { type Candidate, NodeChoice } from './node-choice.ts'

const candidates = () => ['a', 'b', 'c'].map((url): Candidate => ({ url, failures: 0, restsUntil: null }))

function choiceFrom(random: number) {
  let now = 0
  const choice = new NodeChoice(candidates(), { clock: { now: () => now }, random: () => random })
  return { choice, at: (ms: number) => (now = ms) }
}

test('programs begin at different nodes', () => {
  expect([0, 0.4, 0.99].map((random) => choiceFrom(random).choice.current().url)).toEqual(['a', 'b', 'c'])
})

test('a node rests longer each time it fails, and as before once it answered', () => {
  const { choice } = choiceFrom(0)
  const [a] = choice.nodes
  const rests = Array.from({ length: 8 }, () => {
    choice.failed(a!)
    return a!.restsUntil
  })
  expect(rests).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
  choice.answered(a!)
  choice.failed(a!)
  expect(a!.restsUntil).toBe(500)
})

test('when all rest, the one whose rest ends first is asked, and nothing is probed', () => {
  const { choice, at } = choiceFrom(0)
  const [a, b, c] = choice.nodes
  choice.failed(a!)
  choice.failed(a!)
  choice.failed(b!)
  at(10)
  choice.failed(c!)
  expect(choice.current()).toBe(b)
  at(60_000)
  expect(choice.worthProbing()).toBeUndefined()
})

test('only what would be preferred is probed, after its rest', () => {
  const { choice, at } = choiceFrom(0)
  const [a, b, c] = choice.nodes
  choice.failed(a!)
  choice.failed(c!)
  expect(choice.current()).toBe(b)
  expect(choice.worthProbing()).toBeUndefined()
  at(500)
  expect(choice.worthProbing()).toBe(a)
  choice.answered(a!)
  expect(choice.worthProbing()).toBeUndefined()
  expect(choice.current()).toBe(a)
})
