import { useState } from 'react'
import { actFor, useSession } from '../lib/session.ts'
import { Field, Input } from './field.tsx'

/** A platform token acts for any tenant; which one is said here. */
export function TenantChoice() {
  const { tenant } = useSession()
  const [text, write] = useState(tenant ?? '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        actFor(text.trim())
      }}
    >
      <Field label="Tenant">
        {(ids) => <Input {...ids} value={text} placeholder="default" onChange={({ target }) => write(target.value)} />}
      </Field>
    </form>
  )
}
