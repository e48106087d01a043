import { type Scope, scopes } from '@carillon/contract'
import type { NewToken } from '@carillon/contract/api'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Input, Select } from '../../components/field.tsx'
import { call } from '../../lib/api.ts'
import { useCaller } from '../../lib/caller.ts'
import { changed } from '../../lib/queries.ts'

const daySec = 86_400
const lives: [string, number | null][] = [
  ['Until it is revoked', null],
  ['7 days', 7 * daySec],
  ['30 days', 30 * daySec],
  ['90 days', 90 * daySec],
  ['1 year', 365 * daySec],
]
const abouts: Record<string, string> = {
  'jobs:read': 'See jobs and executions',
  'jobs:write': 'Create and change them',
  work: 'Run handlers',
  admin: 'Audit, pools and tokens',
  'metrics:read': 'Read figures that name tenants, pools and handlers',
}

export function CreateToken({ onClose }: { onClose: () => void }) {
  const create = useMutation({
    mutationFn: (body: Parameters<typeof call<'createToken'>>[1]['body']) => call('createToken', { body }),
    onSuccess: () => changed('listTokens'),
  })
  return (
    <Dialog title={create.data ? 'Token created' : 'Create token'} onClose={onClose}>
      {create.data ? (
        <Created token={create.data} onClose={onClose} />
      ) : (
        <Form busy={create.isPending} error={create.error} onClose={onClose} create={create.mutate} />
      )}
    </Dialog>
  )
}

type TokenInput = Parameters<typeof call<'createToken'>>[1]['body']

function Form({
  busy,
  error,
  create,
  onClose,
}: {
  busy: boolean
  error: Error | null
  create: (input: TokenInput) => void
  onClose: () => void
}) {
  const me = useCaller()
  const [name, setName] = useState('')
  const [chosen, choose] = useState<readonly Scope[]>(['jobs:read'])
  const [life, live] = useState<number | null>(null)
  const [platform, setPlatform] = useState(false)
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        create({
          ...{ name: name.trim(), scopes: [...chosen] },
          ...(life !== null && { expiresInSec: life }),
          ...(platform && { platform }),
        })
      }}
    >
      <Field label="Name" about="What it is for; the audit shows it.">
        {(ids) => (
          <Input
            {...ids}
            data-focus-first
            required
            maxLength={200}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <fieldset>
        <legend className="mb-1 font-medium">Allows</legend>
        {scopes
          .filter((scope) => me.scopes.includes(scope))
          .map((scope) => (
            <label key={scope} className="flex items-center gap-2 py-0.5">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={() =>
                  choose(chosen.includes(scope) ? chosen.filter((each) => each !== scope) : [...chosen, scope])
                }
              />
              <code className="font-mono text-[13px]">{scope}</code> <span className="text-soft">{abouts[scope]}</span>
            </label>
          ))}
      </fieldset>
      <Field label="Valid for">
        {(ids) => (
          <Select
            {...ids}
            value={life ?? ''}
            onChange={({ target }) => live(target.value === '' ? null : Number(target.value))}
          >
            {lives.map(([words, seconds]) => (
              <option key={words} value={seconds ?? ''}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {me.tenant === null && (
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={platform} onChange={({ target }) => setPlatform(target.checked)} />
          For every tenant (a platform token)
        </label>
      )}
      {error && <Trouble error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" type="submit" disabled={busy || name.trim() === '' || chosen.length === 0}>
          Create
        </Button>
      </div>
    </form>
  )
}

/** The only time that the key is shown. */
function Created({ token: { name, key }, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <>
      <p className="mb-2">
        The key of <strong>{name}</strong>. Copy it now: it is shown only once.
      </p>
      <Field label="Key">
        {(ids) => (
          <div className="flex items-center gap-2">
            <Input
              {...ids}
              readOnly
              value={key}
              className="font-mono text-[13px]"
              onFocus={({ target }) => target.select()}
            />
            <CopyButton text={key} name="the key" />
          </div>
        )}
      </Field>
      <div className="mt-4 flex justify-end">
        <Button kind="main" onClick={onClose}>
          Done
        </Button>
      </div>
    </>
  )
}
