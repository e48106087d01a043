/** Declares a tenant or changes what is declared: first what it should be, then what that touches. */
import type { Tenant, TenantInput } from '@carillon/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Trouble } from '../../components/answer.tsx'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Input } from '../../components/field.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'
import { effectsOf } from './effects.ts'

const mostWeight = 1_000
const mostJitterSec = 366 * 86_400

interface Form {
  name: string
  weight: string
  jitterSec: string
  description: string
}

/** `tenant` is null: it is not declared yet; `name` then is where the form begins. */
export function Declare({ name, tenant, onClose }: { name: string; tenant: Tenant | null; onClose: () => void }) {
  const [form, setForm] = useState<Form>({
    name,
    weight: String(tenant?.weight ?? 1),
    jitterSec: tenant?.jitterSec == null ? '' : String(tenant.jitterSec),
    description: tenant?.description ?? '',
  })
  const [isReviewed, review] = useState(false)
  const body = bodyOf(form, tenant)
  const effects = effectsOf(tenant, body)
  const put = useMutation({
    mutationFn: () =>
      call('putTenant', {
        params: { tenant: form.name },
        body,
        ...(tenant && { headers: { 'if-match': `"${tenant.version}"` } }),
      }),
    onSuccess: () => {
      onClose()
      return changed('listTenants', 'getTenant')
    },
    // It may have been changed by someone else: what this would change is said of what it is now.
    onError: () => changed('getTenant'),
  })
  const title = tenant ? `Change ${tenant.name}` : 'Declare a tenant'
  return (
    <Dialog title={title} onClose={onClose}>
      {isReviewed ? (
        <>
          <p>
            {tenant ? 'This changes ' : 'This declares '}
            <strong className="break-all">{form.name}</strong>:
          </p>
          <ul className="mt-2 list-disc space-y-1 pl-5">
            {effects.map((effect) => (
              <li key={effect}>{effect}</li>
            ))}
          </ul>
          {put.error && <Trouble error={put.error} />}
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={() => review(false)}>Back</Button>
            <Button kind="main" disabled={put.isPending} onClick={() => put.mutate()}>
              {tenant ? 'Change it' : 'Declare it'}
            </Button>
          </div>
        </>
      ) : (
        <Fields
          form={form}
          isNew={tenant === null}
          isSame={effects.length === 0}
          change={(changes) => setForm({ ...form, ...changes })}
          onReview={() => {
            put.reset()
            review(true)
          }}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}

function Fields({
  form,
  isNew,
  isSame,
  change,
  onReview,
  onClose,
}: {
  form: Form
  isNew: boolean
  isSame: boolean
  change: (changes: Partial<Form>) => void
  onReview: () => void
  onClose: () => void
}) {
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        onReview()
      }}
    >
      {isNew && (
        <Field label="Name" about="As tokens and requests name it.">
          {(ids) => (
            <Input
              {...ids}
              data-focus-first
              required
              maxLength={200}
              value={form.name}
              onChange={({ target }) => change({ name: target.value })}
            />
          )}
        </Field>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Weight" about="Its share beside others that wait too: 1 to 1,000.">
          {(ids) => (
            <Input
              {...ids}
              type="number"
              required
              min={1}
              max={mostWeight}
              value={form.weight}
              onChange={({ target }) => change({ weight: target.value })}
            />
          )}
        </Field>
        <Field label="Default jitter, in seconds" about="Of its schedules that say none. Empty: none.">
          {(ids) => (
            <Input
              {...ids}
              type="number"
              min={1}
              max={mostJitterSec}
              value={form.jitterSec}
              onChange={({ target }) => change({ jitterSec: target.value })}
            />
          )}
        </Field>
      </div>
      <Field label="Description" about="What it is, for people.">
        {(ids) => (
          <Input
            {...ids}
            maxLength={1_000}
            value={form.description}
            onChange={({ target }) => change({ description: target.value })}
          />
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" type="submit" disabled={isSame}>
          Review
        </Button>
      </div>
    </form>
  )
}

/** A declaration is replaced whole: what this form does not know stays as it is. */
function bodyOf(form: Form, tenant: Tenant | null): TenantInput {
  const { name: _, version: __, createdAt: ___, updatedAt: ____, ...kept } = tenant ?? ({} as Tenant)
  return {
    ...kept,
    weight: Number(form.weight),
    jitterSec: form.jitterSec === '' ? null : Number(form.jitterSec),
    description: form.description.trim() === '' ? null : form.description.trim(),
  }
}
