/** Every reference to a secret in a target, and where it stands. A payload is never looked at: it is data. */
import { pointerPart } from '@carillon/contract'
import type { HttpTarget } from './http/header-rules.ts'
import type { ShellTarget } from './shell/shell-target.ts'

export interface PlacedRef {
  pointer: string
  ref: string
}

type Refs = Readonly<Record<string, string | { secretRef: string }>>

export function httpSecrets({ url, headers = {}, bodySecrets = {}, signWith = [] }: HttpTarget): PlacedRef[] {
  return [
    ...placed('/target/http', { url }),
    ...placed('/target/http/headers', headers),
    ...placed('/target/http/bodySecrets', bodySecrets),
    ...placed('/target/http/signWith', Object.fromEntries(signWith.entries())),
  ]
}

export function shellSecrets({ env = {} }: ShellTarget): PlacedRef[] {
  return placed('/target/shell/env', env)
}

function placed(at: string, values: Refs): PlacedRef[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [{ pointer: `${at}/${pointerPart(name)}`, ref: value.secretRef }],
  )
}
