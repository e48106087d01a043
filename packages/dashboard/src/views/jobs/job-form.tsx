/** A definition as a form: what most jobs need. The rest is in the YAML and stays as it is. */
import { defaults, type Job } from '@carillon/contract'
import { type ReactNode, useId } from 'react'
import { Field, Select } from '../../components/field.tsx'
import { useAsk } from '../../lib/queries.ts'
import { withType } from './definition.ts'
import { ChoiceField, NumberField, TextField, useEditing, WrittenField } from './form-fields.tsx'
import { readLabels, readPayload, writeLabels, writePayload } from './written.ts'

const typeWords: Record<Job['type'], string> = {
  CRON: 'Cron: at times in a time zone',
  INTERVAL: 'Interval: at a fixed distance',
  ONE_SHOT: 'One shot: once',
  DELAYED: 'Delayed: once, after a delay',
  AFTER: 'After: when another job has run',
}
const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')]

export function JobForm({ isNew }: { isNew: boolean }) {
  return (
    <div className="space-y-5 p-4">
      <Group name="What it is">
        <TextField label="Name" path={['name']} about="For people. Left empty: the key, or the handler." />
        <TextField
          label="Key"
          path={['key']}
          about={
            isNew
              ? 'A permanent name. Creating a job with the same key updates it.'
              : 'A permanent name, accepted wherever an id is.'
          }
        />
        <WrittenField
          label="Labels"
          path={['labels']}
          rows={2}
          about="One per line, such as team: billing"
          write={writeLabels}
          read={readLabels}
        />
      </Group>
      <Timing />
      <Target />
      <Group name="When it fails">
        <NumberField
          label="Attempts, the first included"
          path={['retryPolicy', 'maxAttempts']}
          usual={defaults.retryPolicy.maxAttempts}
        />
        <ChoiceField
          label="Backoff"
          path={['retryPolicy', 'backoff']}
          usual={defaults.retryPolicy.backoff}
          words={{ EXPONENTIAL: 'Exponential', LINEAR: 'Linear', FIXED: 'Fixed' }}
        />
        <NumberField
          label="First delay, in milliseconds"
          path={['retryPolicy', 'initialDelayMs']}
          usual={defaults.retryPolicy.initialDelayMs}
        />
        <NumberField label="Timeout of an attempt, in seconds" path={['timeoutSec']} usual={defaults.timeoutSec} />
      </Group>
      <Group name="When it cannot run on time">
        <ChoiceField
          label="Overlap"
          path={['overlap']}
          usual={defaults.overlap}
          about="Due while the run before is unfinished"
          words={{
            ALLOW: 'Run beside it',
            FORBID: 'Skip the new run',
            QUEUE_ONE: 'Queue one',
            REPLACE: 'Cancel it, run the new one',
          }}
        />
        <ChoiceField
          label="Misfire"
          path={['misfire']}
          usual={defaults.misfire}
          about="When no node could fire it in time"
          words={{ FIRE_ONCE: 'Run once for all missed', FIRE_ALL: 'Run each of them', SKIP: 'Skip them' }}
        />
      </Group>
    </div>
  )
}

function Timing() {
  const { definition, change, problems } = useEditing()
  const zoneList = useId()
  const type = definition.type ?? 'CRON'
  return (
    <Group name="When it fires">
      <Field label="Type" problem={problems.get('/type')}>
        {(ids) => (
          <Select
            {...ids}
            value={type}
            onChange={({ target }) => change(withType(definition, target.value as Job['type']))}
          >
            {Object.entries(typeWords).map(([word, text]) => (
              <option key={word} value={word}>
                {text}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {type === 'CRON' && (
        <TextField
          label="Schedule"
          path={['schedule']}
          className="font-mono"
          about="Minute, hour, day, month, weekday; six fields begin with the second"
        />
      )}
      {type === 'INTERVAL' && (
        <TextField label="Interval" path={['interval']} className="font-mono" about="ISO 8601: PT15M, PT2H, P1D" />
      )}
      {type === 'ONE_SHOT' && (
        <TextField
          label="Run at"
          path={['runAt']}
          placeholder="2030-01-31T08:00:00"
          about="With Z or an offset an instant, else on the clock of the time zone. Left empty: now."
        />
      )}
      {type === 'DELAYED' && <NumberField label="Delay, in milliseconds" path={['delayMs']} />}
      {type === 'AFTER' && (
        <>
          <TextField label="Job that runs before" path={['after', 'job']} required about="Its key, or its id" />
          <ChoiceField
            label="When that job"
            path={['after', 'on']}
            usual="SUCCEEDED"
            words={{ SUCCEEDED: 'Has succeeded', FAILED: 'Is dead or cancelled', ENDED: 'Has ended' }}
          />
        </>
      )}
      {type !== 'DELAYED' && type !== 'AFTER' && (
        <>
          <TextField label="Time zone" path={['timezone']} list={zoneList} placeholder={defaults.timezone} />
          <datalist id={zoneList}>
            {zones.map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
      {type === 'CRON' && (
        <>
          <ChoiceField
            label="When the clock skips the time"
            path={['dst', 'gap']}
            usual={defaults.dst.gap}
            words={{ SHIFT: 'Shifts past the jump', SKIP: 'Does not run that day' }}
          />
          <ChoiceField
            label="When the time occurs twice"
            path={['dst', 'overlap']}
            usual={defaults.dst.overlap}
            words={{ FIRST: 'Runs the first time', SECOND: 'Runs the second time', BOTH: 'Runs both times' }}
          />
        </>
      )}
    </Group>
  )
}

function Target() {
  const { definition } = useEditing()
  const pools = useAsk('listPools', { query: { limit: 1_000 } })
  const poolList = useId()
  const { handler, pool: _, ...builtIn } = definition.target ?? {}
  const kind = handler === undefined ? Object.keys(builtIn)[0] : undefined
  return (
    <Group name="What runs">
      {kind === undefined ? (
        <>
          <TextField label="Handler" path={['target', 'handler']} required about="The name its workers registered" />
          <TextField label="Pool" path={['target', 'pool']} list={poolList} placeholder={defaults.pool} />
          <datalist id={poolList}>
            {pools.data?.items.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      ) : (
        <p className="text-soft sm:col-span-2">
          The node runs it itself, by a target of the kind <code className="font-mono">{kind}</code>: change it in the
          YAML.
        </p>
      )}
      <ChoiceField
        label="Priority"
        path={['priority']}
        usual={defaults.priority}
        words={{ CRITICAL: 'Critical', HIGH: 'High', NORMAL: 'Normal', LOW: 'Low' }}
      />
      <div className="sm:col-span-2">
        <WrittenField
          label="Payload"
          path={['payload']}
          rows={4}
          about="JSON that the handler receives"
          write={writePayload}
          read={readPayload}
        />
      </div>
    </Group>
  )
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-2 font-semibold">{name}</legend>
      <div className="grid gap-3 sm:grid-cols-2">{children}</div>
    </fieldset>
  )
}
