// A key or a secret at the only moment at which it can be read.

import type { ReactNode } from 'react'
import { Button, Command } from './controls.tsx'
import { Dialog, Note } from './surfaces.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly value: string
  /** What that means for this one. */
  readonly children: ReactNode
  /** Related information: how to use it, what else came with it. */
  readonly more?: ReactNode
  readonly isWide?: boolean
  readonly onClose: () => void
}

export function ShownOnce({ title, value, children, more, isWide, onClose }: ShownOnceProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isWide={isWide === true}
      foot={
        <Button variant="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <Note tone="amber">
        <strong>It is shown this once.</strong> {children}
      </Note>
      <Command text={value} />
      {more}
    </Dialog>
  )
}
