import type { Token } from '@carillon/contract/api'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { call } from '../../lib/api.ts'
import { changed } from '../../lib/queries.ts'

export function Revoke({ token: { keyId, name } }: { token: Token }) {
  const [isAsked, ask] = useState(false)
  const revoke = useMutation({
    mutationFn: () => call('revokeToken', { params: { keyId } }),
    onSuccess: async () => {
      ask(false)
      await changed('listTokens')
    },
  })
  return (
    <>
      <Button kind="danger" aria-label={`Revoke ${name}`} onClick={() => ask(true)}>
        Revoke…
      </Button>
      {isAsked && (
        <Confirm
          title="Revoke token"
          action="Revoke"
          busy={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.mutate()}
          onClose={() => ask(false)}
        >
          <p>
            <strong>{name}</strong> stops working at every node within 10 seconds, and cannot be brought back.
          </p>
        </Confirm>
      )}
    </>
  )
}
