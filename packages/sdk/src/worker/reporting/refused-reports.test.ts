import { CarillonError } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import { startRig } from '../testing/rig.ts'
import { execution, ScriptedTransport } from '../testing/scripted-transport.ts'
import type { ReportedOutcome } from '../transport.ts'

/** Refuses every report that holds an outcome it does not like. */
function pickyTransport(dislikes: (outcome: ReportedOutcome) => boolean): ScriptedTransport {
  const transport = new ScriptedTransport()
  const report = transport.report.bind(transport)
  transport.report = async (said) => {
    if (said.outcomes.some(dislikes)) throw new CarillonError('VALIDATION', 'not like this')
    return report(said)
  }
  return transport
}

const isOdd = (outcome: ReportedOutcome) => 'result' in outcome && outcome.result === '"odd"'

describe('a report that is refused for what it says', () => {
  test('is taken apart: the outcome to blame fails, all others stand', async () => {
    const transport = pickyTransport(isOdd)
    await using rig = await startRig((ctx) => ctx.payload, { transport })
    const given = Array.from({ length: 9 }, (_, at) => execution({ payload: at === 4 ? 'odd' : at }))
    transport.offer(...given)
    await transport.until(() => transport.outcomes.size === given.length)
    await rig.worker.onIdle()
    const [odd, ...others] = [given[4]!, ...given.filter((_, at) => at !== 4)]
    for (const { executionId } of others) expect(transport.outcomes.get(executionId)!.outcome).toBe('SUCCEEDED')
    expect(transport.outcomes.get(odd!.executionId)).toMatchObject({
      outcome: 'FAILED',
      permanent: true,
      error: { name: 'REPORT_VALIDATION', message: expect.stringContaining('not like this') },
    })
  })

  test('whatever is said of it is given up, and does not hold up the rest', async () => {
    let bad = ''
    const transport = pickyTransport(({ executionId }) => executionId === bad)
    await using rig = await startRig(() => {}, { transport })
    const given = [execution(), execution(), execution()]
    bad = given[1]!.executionId
    transport.offer(...given)
    await rig.worker.onIdle()
    await transport.until(() => transport.outcomes.size === 2)
    expect(transport.outcomes.has(bad)).toBe(false)
  })
})
