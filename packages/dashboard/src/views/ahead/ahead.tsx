/** What will fire, if no schedule changes: a day by the minute, a month by the hour. */
import type { Forecast } from '@carillon/contract/api'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Answer, Nothing } from '../../components/answer.tsx'
import { Button, LinkButton } from '../../components/button.tsx'
import { Heading, Panel } from '../../components/panel.tsx'
import { Time, useNow } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count, shortCount } from '../../lib/time.ts'
import type { Search } from '../../routes.tsx'
import { Collisions } from './collisions.tsx'
import { FireMap } from './fire-map.tsx'
import { PoolsAhead } from './pools-ahead.tsx'

const hour = 3_600_000
const spans = {
  day: { name: '24 hours', step: 'MINUTE', ms: 24 * hour },
  month: { name: '30 days', step: 'HOUR', ms: 30 * 24 * hour },
} as const
export type SpanName = keyof typeof spans

export default function Ahead() {
  const search: Search = useSearch({ strict: false })
  const navigate = useNavigate()
  const chosen: SpanName = search.span === 'month' ? 'month' : 'day'
  const { step, ms } = spans[chosen]
  // From the hour that goes on, so that the question stays the same for an hour.
  const from = Math.floor(useNow().getTime() / hour) * hour
  const query = { step, from: new Date(from).toISOString(), to: new Date(from + ms).toISOString() }
  const forecast = useAsk('getForecast', { query }, { everyMs: 60_000 })
  return (
    <>
      <Heading
        title="Ahead"
        about={forecast.data ? <Sentence forecast={forecast.data} /> : 'What will fire, and where it collides'}
        actions={(Object.keys(spans) as SpanName[]).map((name) => (
          <Button
            key={name}
            aria-pressed={name === chosen}
            kind={name === chosen ? 'main' : 'plain'}
            onClick={() => void navigate({ to: '/ahead', search: name === 'day' ? {} : { span: name } })}
          >
            {spans[name].name}
          </Button>
        ))}
      />
      <Answer of={forecast}>
        {(answer) =>
          answer.fires === 0 ? (
            <Panel>
              <Nothing title="Nothing will fire in this time">
                No active job has an occurrence in it.
                <div className="mt-3">
                  <LinkButton to="/jobs">See the jobs</LinkButton>
                </div>
              </Nothing>
            </Panel>
          ) : (
            <div className="space-y-4">
              <Panel title="Coming fires" side={chosen === 'day' ? 'two minutes per cell' : 'one hour per cell'}>
                <FireMap forecast={answer} span={chosen} />
              </Panel>
              <div className="grid items-start gap-4 lg:grid-cols-2">
                <PoolsAhead forecast={answer} />
                <Collisions forecast={answer} />
              </div>
            </div>
          )
        }
      </Answer>
    </>
  )
}

function Sentence({ forecast: { fires, jobs, leftOut, computedAt } }: { forecast: Forecast }) {
  return (
    <>
      {shortCount(fires)} fires of {count(jobs)} {jobs === 1 ? 'job' : 'jobs'}
      {leftOut > 0 && <>, {count(leftOut)} left out</>}; computed <Time at={computedAt} />.
    </>
  )
}
