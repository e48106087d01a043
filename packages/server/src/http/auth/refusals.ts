/** Authentication errors. Before a signature is verified they say nothing that would help to forge one. */
import { CarillonError, type Scope } from '@carillon/contract'

export function unauthenticated(message: string, hint?: string): CarillonError {
  return new CarillonError('UNAUTHENTICATED', { message, hint })
}

export function scopeMissing(scope: Scope): CarillonError {
  return new CarillonError('SCOPE_MISSING', {
    message: `the token lacks the scope ${scope}`,
    hint: `Use a token with the scope ${scope}`,
  })
}

export function platformOnly(): CarillonError {
  return new CarillonError('TENANT_NOT_YOURS', {
    message: 'the token belongs to a tenant, and this concerns the installation',
    hint: 'Use a platform token',
  })
}

export function tenantNotYours(): CarillonError {
  return new CarillonError('TENANT_NOT_YOURS', {
    pointer: '/carillon-tenant',
    message: 'the token belongs to another tenant than Carillon-Tenant names',
    hint: 'Leave the header out, or use a platform token',
  })
}
