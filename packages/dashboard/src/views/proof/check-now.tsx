/** `carillon verify` in the page: a range, compared part by part. */
import { type VerifyResult, type VerifyVerdict, verifyAll } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Field, Input, Select } from '../../components/field.tsx'
import { Facts, Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { call } from '../../lib/api.ts'
import { currentTime } from '../../lib/clock.ts'
import { count, duration } from '../../lib/time.ts'

const hour = 3_600_000
const ranges = { 'Last hour': hour, 'Last 24 hours': 24 * hour, 'Last 7 days': 7 * 24 * hour }

type RangeName = keyof typeof ranges

export function CheckNow() {
  const [range, choose] = useState<RangeName>('Last hour')
  const [job, write] = useState('')
  const [sofar, tell] = useState<VerifyResult | null>(null)
  const check = useMutation({
    mutationFn: () => {
      const from = new Date(currentTime().getTime() - ranges[range]).toISOString()
      const wanted = { from, onPart: tell, ...(job.trim() !== '' && { jobId: job.trim() }) }
      return verifyAll((query) => call('verify', { query }), wanted)
    },
    onMutate: () => tell(null),
  })
  return (
    <Panel title="Check now">
      <form
        className="flex flex-wrap items-end gap-3 px-4 py-3"
        onSubmit={(event) => {
          event.preventDefault()
          check.mutate()
        }}
      >
        <div className="w-40">
          <Field label="Range">
            {(ids) => (
              <Select {...ids} value={range} onChange={({ target }) => choose(target.value as RangeName)}>
                {Object.keys(ranges).map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </Select>
            )}
          </Field>
        </div>
        <div className="w-64 max-w-full">
          <Field label="Job">
            {(ids) => (
              <Input
                {...ids}
                value={job}
                placeholder="All, or an id or key"
                onChange={({ target }) => write(target.value)}
              />
            )}
          </Field>
        </div>
        <Button kind="main" type="submit" disabled={check.isPending}>
          {check.isPending ? 'Comparing…' : 'Compare'}
        </Button>
      </form>
      {check.error && <Trouble error={check.error} />}
      <div aria-live="polite">{sofar && <Result sum={sofar} isWhole={check.isSuccess} />}</div>
    </Panel>
  )
}

function Result({ sum, isWhole }: { sum: VerifyResult; isWhole: boolean }) {
  const { missed, doubled, stuck, wrong, lost, late, skipped, outsideHistory } = sum
  const skips = Object.entries(skipped).map(([reason, times]) => `${count(times)} ${reason}`)
  return (
    <div className="border-t border-line">
      <p className="flex items-center gap-2 px-4 pt-3 font-medium">
        {isWhole && <StateIcon state={verdicts[sum.verdict].state} />}
        {isWhole ? verdicts[sum.verdict].words : 'So far'}: {count(sum.checked.occurrences)} occurrences of{' '}
        {count(sum.checked.jobs)} jobs compared
      </p>
      <Facts
        facts={[
          [
            'From, to',
            <>
              <Time at={sum.from} exact /> to <Time at={sum.to} exact />
            </>,
          ],
          ['Missed', count(missed)],
          ['Doubled', count(doubled)],
          ['Lost', count(lost.submissions)],
          ['Stuck', count(stuck)],
          ['Wrong', count(wrong)],
          ['Late', late.count === 0 ? '0' : `${count(late.count)}, at worst by ${duration(late.worstMs)}`],
          ['Skipped', skips.length === 0 ? '0' : skips.join(', ')],
          ...(outsideHistory.before === null
            ? []
            : [
                [
                  'Outside history',
                  <>
                    Nothing is kept of what lies before <Time at={outsideHistory.before} exact />
                  </>,
                ] as [string, React.ReactNode],
              ]),
        ]}
      />
      {sum.findings.length > 0 && (
        <Table
          caption="Findings"
          rows={sum.findings}
          keyOf={({ kind, why, executionId }) => `${kind} ${why} ${executionId}`}
          columns={[
            { name: 'Finding', cell: ({ kind, why }) => `${kind} (${why})` },
            {
              name: 'Job',
              cell: ({ jobId }) => (
                <Link to="/jobs/$jobId" params={{ jobId }} className="underline">
                  {jobId}
                </Link>
              ),
            },
            { name: 'Scheduled for', cell: ({ scheduledFor }) => <Time at={scheduledFor} exact /> },
            {
              name: 'Execution',
              cell: ({ executionId }) => (
                <Link to="/executions/$executionId" params={{ executionId }} className="underline">
                  {executionId}
                </Link>
              ),
            },
          ]}
        />
      )}
    </div>
  )
}

const verdicts: Record<VerifyVerdict, { state: string; words: string }> = {
  CLEAN: { state: 'SUCCEEDED', words: 'Clean' },
  FOUND: { state: 'DEAD', words: 'Something was found' },
  OUTSIDE_HISTORY: { state: 'PAUSED', words: 'Nothing was found, but not all of this time is kept' },
}
