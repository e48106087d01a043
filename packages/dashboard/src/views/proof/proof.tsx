/** What verification says: the ledger compared with the schedules, without a pause and on request. */
import type { Verified } from '@carillon/contract/api'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Figure, Heading, Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { Time } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count, percent, shortCount } from '../../lib/time.ts'
import { CheckNow } from './check-now.tsx'
import { Hours } from './hours.tsx'

const faults = ['missed', 'doubled', 'stuck', 'wrong', 'lost'] as const

export default function Proof() {
  const verified = useAsk('getVerified', {}, { everyMs: 30_000 })
  return (
    <>
      <Heading title="Proof" about="Every minute the ledger is compared with what the schedules say should be in it." />
      <div className="space-y-4">
        <Answer of={verified}>
          {(answer) =>
            answer.until === null || answer.total.occurrences === 0 ? (
              <Panel>
                <Nothing title="Nothing has been compared yet">
                  The first comparison comes a few minutes after the installation starts.
                </Nothing>
              </Panel>
            ) : (
              <>
                <Verdict verified={answer} />
                <Hours verified={answer} />
              </>
            )
          }
        </Answer>
        <CheckNow />
      </div>
    </>
  )
}

function Verdict({ verified: { total, since, until, stuckNow } }: { verified: Verified }) {
  const found = faults.reduce((sum, kind) => sum + total[kind], 0)
  return (
    <Panel
      title={
        <span className="flex items-center gap-2">
          <StateIcon state={found === 0 ? 'SUCCEEDED' : 'DEAD'} />
          {found === 0 ? 'Clean' : `${count(found)} findings`}
        </span>
      }
      side={
        <>
          Since <Time at={since} exact />, up to <Time at={until} />
        </>
      }
    >
      <div className="grid grid-cols-2 sm:grid-cols-4 xl:grid-cols-8">
        <Figure name="Compared" value={shortCount(total.occurrences)} about="occurrences" />
        <Fault name="Missed" value={total.missed} about="never fired" />
        <Fault name="Doubled" value={total.doubled} about="ran more than once" />
        <Fault name="Lost" value={total.lost} about="acknowledged, then gone" />
        <Fault name="Stuck" value={total.stuck} about={`${count(stuckNow)} now`} />
        <Fault name="Wrong" value={total.wrong} about="contradictory rows" />
        <Figure
          name="Late"
          value={shortCount(total.late)}
          about="by more than 1 s"
          tone={total.late > 0 ? 'warn' : 'ink'}
        />
        <Figure
          name="On time"
          value={total.occurrences === 0 ? '–' : percent(1 - total.late / total.occurrences)}
          about="objective 99.9 %"
        />
      </div>
    </Panel>
  )
}

function Fault({ name, value, about }: { name: string; value: number; about: string }) {
  return <Figure name={name} value={count(value)} about={about} tone={value === 0 ? 'good' : 'bad'} />
}
