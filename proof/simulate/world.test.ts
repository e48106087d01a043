import { describe, expect, it } from 'vitest'
import { Random } from './random.ts'
import { World } from './world.ts'

async function runAll(world: World): Promise<void> {
  await world.run(() => false)
}

describe('the world', () => {
  it('runs events by time, and those of one instant in the order they were made', async () => {
    const world = new World(1_000)
    const seen: string[] = []
    world.later(5, () => seen.push(`c ${world.now}`))
    world.later(2, () => seen.push(`a ${world.now}`))
    world.later(2, () => seen.push(`b ${world.now}`))
    await runAll(world)
    expect(seen).toEqual(['a 1002', 'b 1002', 'c 1005'])
  })

  it('lets everything that follows from an event happen before the next, under the same owner', async () => {
    const world = new World(0)
    const seen: string[] = []
    const node = world.spawn('node')
    world.as(node, () =>
      world.later(1, async () => {
        await null
        world.later(0, () => seen.push(world.owner.name))
        seen.push('first')
      }),
    )
    world.later(2, () => seen.push('last'))
    await runAll(world)
    expect(seen).toEqual(['first', 'node', 'last'])
  })

  it('drops what was to come of an owner that is gone, and of its threads', async () => {
    const world = new World(0)
    const seen: string[] = []
    const node = world.spawn('node')
    const thread = world.spawn('thread', node)
    world.later(5, () => seen.push('node'), node)
    world.later(5, () => seen.push('thread'), thread)
    node.onGone(() => seen.push('gone'))
    world.later(1, () => node.end())
    await runAll(world)
    expect(seen).toEqual(['gone'])
  })

  it('keeps what comes to one that is stopped until it goes on, in order; but not what is cancelled meanwhile', async () => {
    const world = new World(0)
    const seen: string[] = []
    const node = world.spawn('node')
    const thread = world.spawn('thread', node)
    world.later(2, () => seen.push(`a ${world.now}`), node)
    world.later(3, () => seen.push(`b ${world.now}`), thread)
    const never = world.later(4, () => seen.push('never'), node)
    world.later(1, () => node.stop())
    world.later(10, () => {
      never.cancelled = true
      world.goOn(node)
    })
    await runAll(world)
    expect(seen).toEqual(['a 10', 'b 10'])
  })

  it('gives each owner a clock of its own', async () => {
    const world = new World(1_000)
    const node = world.spawn('node')
    Object.assign(node, { offsetMs: 500, drift: 0.01, wallOffsetMs: -100 })
    world.later(1_000, () => {})
    await runAll(world)
    expect([world.timeOf(world.root), world.timeOf(node), world.wallTimeOf(node)]).toEqual([2_000, 2_510, 2_410])
  })
})

describe('random numbers', () => {
  it('are the same for the same seed and name, and others for any other', () => {
    const draw = (random: Random) => Array.from({ length: 5 }, () => random.whole(0, 1_000_000))
    expect(draw(new Random(7, 'a'))).toEqual(draw(new Random(7, 'a')))
    expect(draw(new Random(7, 'a'))).not.toEqual(draw(new Random(8, 'a')))
    expect(draw(new Random(7).fork('a'))).not.toEqual(draw(new Random(7).fork('b')))
  })
})
