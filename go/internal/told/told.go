// Package told collects the mergelogs and spans of a controller, for tests.
package told

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Mergelog is a sent mergelog.
type Mergelog struct {
	CPID    string
	Sources []string
	Object  string
}

// Span is an ended span.
type Span struct {
	Name, CPID      string
	Observed, Wrote []string
	IsFailed        bool
}

// Changes collects the mergelogs and spans of its providers.
type Changes struct {
	mu        sync.Mutex
	mergelogs []Mergelog
	spans     []Span
}

// Tracers returns a provider whose spans are collected.
func (c *Changes) Tracers() *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans{c}))
}

// Loggers returns a provider whose mergelogs are collected.
func (c *Changes) Loggers() *sdklog.LoggerProvider {
	return sdklog.NewLoggerProvider(sdklog.WithProcessor(records{c}))
}

// Mergelogs returns the mergelogs so far.
func (c *Changes) Mergelogs() []Mergelog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mergelogs)
}

// MergelogOf returns the mergelog of a CPID, and whether there is one.
func (c *Changes) MergelogOf(id string) (Mergelog, bool) {
	for _, one := range c.Mergelogs() {
		if one.CPID == id {
			return one, true
		}
	}
	return Mergelog{}, false
}

// Spans returns the spans of a name so far; all if the name is empty.
func (c *Changes) Spans(name string) (found []Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.spans {
		if one.Name == name || name == "" {
			found = append(found, one)
		}
	}
	return found
}

// Names returns the names of all spans so far.
func (c *Changes) Names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.spans {
		names = append(names, one.Name)
	}
	return names
}

type spans struct{ *Changes }

func (s spans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s spans) Shutdown(context.Context) error                  { return nil }
func (s spans) ForceFlush(context.Context) error                { return nil }
func (s spans) OnEnd(ended sdktrace.ReadOnlySpan) {
	span := Span{Name: ended.Name(), IsFailed: ended.Status().Code == codes.Error}
	for _, one := range ended.Attributes() {
		switch one.Key {
		case "cpid.id":
			span.CPID = one.Value.AsString()
		case "cpid.observed":
			span.Observed = one.Value.AsStringSlice()
		case "cpid.wrote":
			span.Wrote = one.Value.AsStringSlice()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, span)
}

type records struct{ *Changes }

func (r records) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (r records) Shutdown(context.Context) error                         { return nil }
func (r records) ForceFlush(context.Context) error                       { return nil }
func (r records) OnEmit(_ context.Context, record *sdklog.Record) error {
	var told Mergelog
	record.WalkAttributes(func(one attribute.KeyValue) bool {
		switch one.Key {
		case "cpid.new":
			told.CPID = one.Value.AsString()
		case "cpid.sources":
			told.Sources = one.Value.AsStringSlice()
		case "cpid.object":
			told.Object = one.Value.AsString()
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mergelogs = append(r.mergelogs, told)
	return nil
}
