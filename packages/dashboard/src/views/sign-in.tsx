import { useState } from 'react'
import { Button } from '../components/button.tsx'
import { Field, Input } from '../components/field.tsx'
import { Bell } from '../components/icons.tsx'
import { signIn } from '../lib/session.ts'

/** `refused`: what the node said to the token that was given. */
export function SignIn({ refused }: { refused: string | undefined }) {
  const [token, write] = useState('')
  const [keep, setKeep] = useState(false)
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center px-4">
      <h1 className="mb-4 flex items-center gap-2 text-xl font-semibold">
        <Bell /> Sign in to Carillon
      </h1>
      <form
        className="space-y-4 rounded-lg border border-line bg-panel p-4"
        onSubmit={(event) => {
          event.preventDefault()
          signIn(token.trim(), { keep })
        }}
      >
        <Field
          label="Token"
          problem={refused}
          about={
            <>
              An API key (<code className="font-mono">carillon tokens create</code>) or a token of your identity
              provider.
            </>
          }
        >
          {(ids) => (
            <Input
              {...ids}
              type="password"
              autoComplete="current-password"
              required
              value={token}
              onChange={({ target }) => write(target.value)}
            />
          )}
        </Field>
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={keep} onChange={({ target }) => setKeep(target.checked)} />
          Keep me signed in on this device
        </label>
        <Button kind="main" type="submit" className="w-full" disabled={token.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
