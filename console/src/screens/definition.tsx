import { PageFrame } from '../ui/surfaces.tsx'
export default function Stub({ kind, name }: { readonly kind: string; readonly name: string }) {
  return (
    <PageFrame title="Soon">
      {kind}
      {name}
    </PageFrame>
  )
}
