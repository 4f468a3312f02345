package causeway

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"causeway/cpid"
)

// tracedSubResource reports writes of a subresource, such as a status. They cannot carry the change: only this process remembers it for
// the resulting version.
type tracedSubResource struct {
	client.SubResourceClient
	trace *Trace
	name  string
}

func (c tracedSubResource) Create(ctx context.Context, object, body client.Object, opts ...client.SubResourceCreateOption) error {
	// The answer of an eviction or a token request is not the object.
	if c.name != "eviction" && c.name != "binding" {
		return c.SubResourceClient.Create(ctx, object, body, opts...)
	}
	options := &client.SubResourceCreateOptions{}
	options.ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		return c.SubResourceClient.Create(ctx, object, body, opts...)
	}
	w := write{verb: "create", subresource: c.name, target: c.trace.kinds.reference(c.trace.kinds.of(object), object)}
	return c.trace.send(ctx, w, func(ctx context.Context, _ cpid.Context) (accepted, error) {
		return accepted{}, c.SubResourceClient.Create(ctx, object, body, opts...)
	})
}

func (c tracedSubResource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	options := &client.SubResourceUpdateOptions{}
	options.ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		return c.SubResourceClient.Update(ctx, object, opts...)
	}
	if body := options.SubResourceBody; body != nil {
		return c.writeBody(ctx, "update", object, body, func(ctx context.Context) error {
			return c.SubResourceClient.Update(ctx, object, opts...)
		})
	}
	return c.trace.writeObject(ctx, "update", c.name, object, func(ctx context.Context) error {
		return c.SubResourceClient.Update(ctx, object, opts...)
	})
}

func (c tracedSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := &client.SubResourcePatchOptions{}
	options.ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		return c.SubResourceClient.Patch(ctx, object, patch, opts...)
	}
	if body := options.SubResourceBody; body != nil {
		return c.writeBody(ctx, "patch", object, body, func(ctx context.Context) error {
			return c.SubResourceClient.Patch(ctx, object, patch, opts...)
		})
	}
	return c.trace.patchObject(ctx, c.name, object, patch, func(ctx context.Context, patch client.Patch) error {
		return c.SubResourceClient.Patch(ctx, object, patch, opts...)
	})
}

func (c tracedSubResource) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := &client.SubResourceApplyOptions{}
	options.ApplyOpts(opts)
	if len(options.DryRun) > 0 || options.SubResourceBody != nil {
		return c.SubResourceClient.Apply(ctx, configuration, opts...)
	}
	return c.trace.apply(ctx, c.name, configuration, func(ctx context.Context, marked runtime.ApplyConfiguration) error {
		return c.SubResourceClient.Apply(ctx, marked, opts...)
	})
}

// writeBody sends a body of another kind, such as a Scale; the answer has the new version of the object.
func (c tracedSubResource) writeBody(ctx context.Context, verb string, object, body client.Object, do func(context.Context) error) error {
	w := write{verb: verb, subresource: c.name, target: c.trace.kinds.reference(c.trace.kinds.of(object), object), own: c.trace.overwritten(object)}
	return c.trace.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		if err := do(ctx); err != nil {
			return accepted{}, err
		}
		wrote := w.target
		wrote.UID, wrote.ResourceVersion = string(body.GetUID()), body.GetResourceVersion()
		c.trace.wrote(wrote, change)
		return accepted{wrote: []cpid.Reference{wrote}}, nil
	})
}
