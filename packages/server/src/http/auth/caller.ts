/** From the claims of a token to the caller. */
import type { IncomingHttpHeaders } from 'node:http'
import { CarillonError, defaults, type Scope, scopes } from '@carillon/contract'
import { Name } from '@carillon/contract/api'
import { Type } from 'typebox'
import type { Caller } from '../route.ts'
import { checker } from '../validation.ts'
import { tenantNotYours } from './refusals.ts'

/** What stands for all tenants in a token. */
export const everyTenant = '*'

export interface Identity {
  /** `*`: a platform token. */
  tenant: string
  scopes: readonly string[]
  actor: string
}

/** Scopes that are not known are left out: a newer issuer may name some. */
export function callerOf({ tenant, scopes: named, actor }: Identity): Caller {
  const platform = tenant === everyTenant
  return Object.freeze({
    tenant: platform ? defaults.tenant : tenant,
    platform,
    scopes: new Set<Scope>(scopes.filter((scope) => named.includes(scope))),
    actor,
  })
}

/** A platform token acts for the tenant that `Carillon-Tenant` names; a tenant's may name its own only. */
export function actingFor(caller: Caller, headers: IncomingHttpHeaders): Caller {
  const given = headers['carillon-tenant']
  if (given === undefined) return caller
  const tenant = tenantNamed(String(given))
  if (caller.platform) return { ...caller, tenant, actsForTenant: true }
  if (tenant !== caller.tenant) throw tenantNotYours()
  return caller
}

const checkTenant = checker(Type.Object({ 'carillon-tenant': Name }), 'headers')
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Node reads headers as Latin-1; names are UTF-8. Taken for the other, a name would become another tenant's. */
function tenantNamed(given: string): string {
  let tenant: string
  try {
    tenant = utf8.decode(Buffer.from(given, 'latin1'))
  } catch {
    throw invalidTenant('is not UTF-8', 'Send the bytes of its UTF-8 form')
  }
  checkTenant({ 'carillon-tenant': tenant })
  if (tenant === everyTenant) throw invalidTenant('must name one tenant', 'Name one, or leave the header out')
  return tenant
}

function invalidTenant(message: string, hint: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer: '/carillon-tenant', message, hint })
}
