import { Link, type LinkProps } from '@tanstack/react-router'
import type { ButtonHTMLAttributes, ReactNode } from 'react'

type Kind = 'main' | 'plain' | 'quiet' | 'danger'

const kinds: Record<Kind, string> = {
  main: 'bg-accent text-accent-ink border-transparent hover:brightness-110',
  plain: 'bg-panel text-ink border-line hover:bg-sunken',
  quiet: 'bg-transparent text-ink border-transparent hover:bg-sunken',
  danger: 'bg-panel text-bad border-bad hover:bg-bad-soft',
}

const shape =
  'inline-flex min-h-8.5 items-center justify-center gap-1.5 rounded-md border px-3 py-1 font-medium whitespace-nowrap ' +
  'disabled:cursor-not-allowed disabled:opacity-50'

export function Button({
  kind = 'plain',
  className = '',
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: Kind }) {
  return <button type="button" className={`${shape} ${kinds[kind]} ${className}`} {...rest} />
}

export function LinkButton({ kind = 'plain', children, ...rest }: LinkProps & { kind?: Kind; children: ReactNode }) {
  return (
    <Link className={`${shape} ${kinds[kind]}`} {...rest}>
      {children}
    </Link>
  )
}
