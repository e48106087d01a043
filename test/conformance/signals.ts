/** What every version of signals must do; with one node if it is for one, else between two. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Signal, Signals } from '../../packages/server/src/signals/port.ts'
import { until } from '../support/until.ts'

export interface SignalsSubject {
  /** Of one installation, not started; a version for one process has one. */
  nodes: [Signals] | [Signals, Signals]
  dispose(): Promise<void>
}

class Listener {
  readonly heard: Signal[] = []
  readonly signals: Signals

  constructor(signals: Signals) {
    this.signals = signals
    signals.subscribe((signal) => this.heard.push(signal))
  }

  of<Kind extends Signal['kind']>(kind: Kind): Extract<Signal, { kind: Kind }>[] {
    return this.heard.filter((signal) => signal.kind === kind) as Extract<Signal, { kind: Kind }>[]
  }
}

const ready = (pool: string, tag: number, lane = 0): Signal => ({ kind: 'READY', pool, lane, tag })
const cancel = (n: number): Signal => ({
  ...{ kind: 'CANCEL', workerId: 'w', executionId: `execution-${n}`, fence: n, reason: 'CANCELLED' },
})
const oneOfEach: Signal[] = [
  ready('p', 3),
  { kind: 'RESUMED', pool: 'p' },
  { kind: 'DUE', at: 5 },
  cancel(1),
  { kind: 'SHARDS' },
  { kind: 'TENANTS' },
  { kind: 'SLOTS' },
]

export function describeSignals(name: string, open: () => Promise<SignalsSubject>, { nodes = 2 } = {}): void {
  describe(`signals by ${name}`, () => {
    let subject: SignalsSubject
    let a: Listener
    let b: Listener

    beforeEach(async () => {
      subject = await open()
      a = new Listener(subject.nodes[0])
      b = new Listener(subject.nodes[1] ?? subject.nodes[0])
      for (const signals of subject.nodes) await signals.start()
    })
    afterEach(async () => {
      for (const signals of subject.nodes) await signals.stop()
      await subject.dispose()
    })

    describe('at the node that publishes', () => {
      it('each is heard at once, and once', async () => {
        const all: Signal[] = [...oneOfEach, { kind: 'ENDED', executionIds: ['e'] }]
        for (const signal of all) a.signals.publish(signal)
        expect(a.heard).toEqual(all)
        if (nodes === 2) await until(() => oneOfEach.every(({ kind }) => b.heard.some((heard) => heard.kind === kind)))
        expect(a.heard).toHaveLength(all.length)
      })

      it('one listener that fails keeps nothing from the others, nor from who published', () => {
        const end = a.signals.subscribe(() => {
          throw new Error('a listener with a bug')
        })
        const later = new Listener(a.signals)
        expect(() => a.signals.publish({ kind: 'SHARDS' })).not.toThrow()
        expect([a.heard, later.heard]).toEqual([[{ kind: 'SHARDS' }], [{ kind: 'SHARDS' }]])
        end()
      })

      it('who has ended its subscription hears nothing more, also if it ends while it is told', () => {
        const heard: string[] = []
        const end = a.signals.subscribe(({ kind }) => {
          heard.push(kind)
          end()
        })
        a.signals.publish({ kind: 'SHARDS' })
        a.signals.publish({ kind: 'SHARDS' })
        expect(heard).toEqual(['SHARDS'])
        expect(a.heard).toHaveLength(2)
      })

      it('publishing before a start and after a stop does no harm; stopping twice neither', async () => {
        const other = await open()
        const [signals] = other.nodes
        expect(() => signals.publish({ kind: 'SHARDS' })).not.toThrow()
        await signals.start()
        await signals.stop()
        expect(() => signals.publish(cancel(1))).not.toThrow()
        await signals.stop()
        await other.dispose()
      })
    })

    if (nodes === 1) return
    describe('at the other node', () => {
      it('each is heard as it was published', async () => {
        for (const signal of oneOfEach) a.signals.publish(signal)
        await until(() => b.heard.length >= oneOfEach.length)
        for (const signal of oneOfEach) expect(b.heard).toContainEqual(signal)
      })

      it('an end is not told', async () => {
        a.signals.publish({ kind: 'ENDED', executionIds: ['e'] })
        a.signals.publish({ kind: 'SHARDS' })
        await until(() => b.of('SHARDS').length > 0)
        expect(b.of('ENDED')).toEqual([])
      })

      it('of one moment the strongest of a kind is heard, lane by lane, and every cancellation', async () => {
        for (const tag of [5, 3, 9]) a.signals.publish(ready('p', tag))
        a.signals.publish(ready('p', 4, 1))
        for (const at of [70, 60, 80]) a.signals.publish({ kind: 'DUE', at })
        for (const n of [1, 2, 3]) a.signals.publish(cancel(n))
        await until(() => b.of('CANCEL').length === 3 && b.of('DUE').length > 0)
        expect(Math.min(...b.of('READY').flatMap(({ lane, tag }) => (lane === 0 ? [tag] : [])))).toBe(3)
        expect(b.of('READY')).toContainEqual(ready('p', 4, 1))
        expect(Math.min(...b.of('DUE').map(({ at }) => at))).toBe(60)
      })

      it.each([
        ['of plain names', (n: number) => cancel(n)],
        ['of names that take three bytes a character', (n: number) => ready(`${n}-${'漢'.repeat(180)}`, n)],
      ])('none of a great burst %s is lost', async (_, of) => {
        const burst = Array.from({ length: 500 }, (_, n) => of(n))
        for (const signal of burst) a.signals.publish(signal)
        await until(() => b.heard.length >= burst.length)
        const texts = (signals: Signal[]) => new Set(signals.map((signal) => JSON.stringify(signal)))
        expect(texts(b.heard)).toEqual(texts(burst))
      })

      it('what was published last before a stop is heard', async () => {
        a.signals.publish(cancel(7))
        await a.signals.stop()
        await until(() => b.of('CANCEL').length > 0)
      })
    })
  })
}
