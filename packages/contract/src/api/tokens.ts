import { Type } from 'typebox'
import { Me } from '../schemas/me.ts'
import { closed } from '../schemas/scalars.ts'
import { NewToken, Token, TokenInput } from '../schemas/token.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Tokens'

export const tokenOperations = {
  getMe: operation({
    method: 'GET',
    path: '/v1/me',
    tag,
    scope: 'any',
    summary: 'Who is asking, and what may that caller do?',
    answers: { 200: { description: 'The caller', schema: Me } },
    errors: [],
  }),
  listTokens: operation({
    method: 'GET',
    path: '/v1/tokens',
    tag,
    scope: 'admin',
    summary: 'List the API keys of the tenant, newest first',
    description: 'Also those that are revoked or have expired. Secrets are kept nowhere, so none is shown.',
    query: Type.Object(
      {
        ...pageFields,
        platform: Type.Optional(Type.Boolean({ description: 'Platform tokens instead; needs a platform token.' })),
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(Token, 'TokenPage') } },
    errors: ['TENANT_NOT_YOURS'],
  }),
  createToken: operation({
    method: 'POST',
    path: '/v1/tokens',
    tag,
    scope: 'admin',
    summary: 'Create an API key',
    description:
      'For the tenant of the request, with scopes that the caller has itself. The key is in this answer and nowhere else, so the ' +
      'request takes no `Idempotency-Key`: if the answer is lost, revoke the key that the list shows, and create another.',
    body: TokenInput,
    answers: { 201: { description: 'Created', schema: NewToken } },
    errors: ['SCOPE_MISSING', 'TENANT_NOT_YOURS', 'TENANT_UNDECLARED', 'TOKENS_NOT_WRITABLE'],
  }),
  revokeToken: operation({
    method: 'DELETE',
    path: '/v1/tokens/:keyId',
    tag,
    scope: 'admin',
    summary: 'Revoke an API key',
    description: 'Every node refuses it within 10 seconds. Repeated, it changes nothing.',
    params: Type.Object(
      {
        keyId: Type.String({
          minLength: 1,
          maxLength: 100,
          pattern: '^[0-9A-Za-z-]+$',
          description: 'The id of the key, as the list shows it; not the key itself.',
        }),
      },
      closed,
    ),
    answers: { 204: { description: 'Revoked' } },
    errors: ['TOKEN_NOT_FOUND', 'TOKENS_NOT_WRITABLE'],
  }),
}
