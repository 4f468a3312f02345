package causeway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"causeway/cpid"
)

// follow starts a fake informer of a kind, whose events the test sends.
func (w world) follow(t *testing.T, kind client.Object) *controllertest.FakeInformer {
	t.Helper()
	plain := &informertest.FakeInformers{Scheme: scheme.Scheme}
	informer, err := w.trace.Cache(plain).GetInformer(t.Context(), kind)
	must(t, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	must(t, err)
	fake, err := plain.FakeInformerFor(t.Context(), kind)
	must(t, err)
	return fake
}

// madeFor returns the CPID of an object created by a reconcile that finds another one deleted.
func (w world) madeFor(t *testing.T, missed client.Object, name string) string {
	t.Helper()
	made := settings(name, "", "")
	must(t, w.reconciled(t, func(ctx context.Context) error {
		err := w.traced.Get(ctx, client.ObjectKeyFromObject(missed), missed.DeepCopyObject().(client.Object))
		return errors.Join(client.IgnoreNotFound(err), w.traced.Create(ctx, made))
	}))
	return made.Annotations[cpidOf]
}

func TestWhatGoesWithItsNamespaceGoesBecauseOfWhoeverDeletedThat(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	namespaces, held := w.follow(t, &corev1.Namespace{}), w.follow(t, &corev1.ConfigMap{})
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "n", ResourceVersion: "4"}}
	ending := shop.DeepCopy()
	ending.ResourceVersion, ending.DeletionTimestamp = "7", new(metav1.Now())
	in := func(namespace, version string) *corev1.ConfigMap {
		object := settings("held", first, "")
		object.Namespace, object.UID, object.ResourceVersion = namespace, types.UID("in-"+namespace), version
		return object
	}
	goes := func(object *corev1.ConfigMap, version, made string) string {
		held.Add(object)
		last := object.DeepCopy()
		last.ResourceVersion = version
		held.Delete(last)
		return w.madeFor(t, object, made)
	}
	namespaces.Add(shop)
	namespaces.Update(shop, ending)
	if got, want := goes(in("shop", "5"), "8", "one"), cpid.DerivedRoot("mine", "n", "7"); got != want {
		t.Errorf("what goes with its namespace comes from %s, not %s", got, want)
	}
	if spans := w.Spans("delete v1/namespaces"); len(spans) != 1 {
		t.Errorf("the spans are %+v", w.Names())
	}
	if got, want := goes(in("other", "5"), "9", "two"), cpid.DerivedRoot("mine", "in-other", "9"); got != want {
		t.Errorf("what goes by itself comes from %s, not %s", got, want)
	}
}

func TestADeletionByNameThatCannotBeMarkedIsKnownByItsInformer(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), object.GetName(), errors.New("no patch"))
		},
	}, settings("a", first, ""), settings("b", "", ""))
	held := w.follow(t, &corev1.ConfigMap{})
	b := settings("b", "", "")
	get(t, w.plain, b)
	b.UID = "u-b"
	held.Add(b)
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a := settings("a", "", "")
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a),
			w.traced.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}))
	}))
	held.Delete(b)
	if got := w.madeFor(t, b, "made"); got != first {
		t.Errorf("what follows from the deletion is of %s", got)
	}
}

func TestAWriteThatChangedNothingOfAPodThatIsGivenTimeIsNone(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return nil
		},
	}, settings("a", first, ""))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-web", ResourceVersion: "7",
		DeletionTimestamp: new(metav1.Now()), DeletionGracePeriodSeconds: new(int64(30))}}
	must(t, w.reconciled(t, func(ctx context.Context) error {
		a, before := settings("a", "", ""), pod.DeepCopy()
		pod.Labels = map[string]string{"is": "going"}
		return errors.Join(w.traced.Get(ctx, client.ObjectKeyFromObject(a), a), w.traced.Patch(ctx, pod, client.MergeFrom(before)))
	}))
	if names := w.Names(); len(names) > 0 {
		t.Errorf("the spans are %v", names)
	}
}

// A restarted operator finds objects that it has acted on: the ancestors on its own objects show it.
func TestAChangeThatAnotherDescendsFromIsNotToldAnew(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, settings("a", "", ""))
	held, a := w.follow(t, &corev1.ConfigMap{}), settings("a", "", "")
	get(t, w.plain, a)
	held.Add(a)
	made := settings("made", second, cpid.DerivedRoot("mine", string(a.UID), a.ResourceVersion))
	made.UID = "u-made"
	must(t, w.plain.Create(t.Context(), made))
	reconcile := func(reads ...client.Object) {
		must(t, w.reconciled(t, func(ctx context.Context) error {
			var err error
			for _, one := range reads {
				err = errors.Join(err, w.traced.Get(ctx, client.ObjectKeyFromObject(one), one.DeepCopyObject().(client.Object)))
			}
			return errors.Join(err, w.traced.Create(ctx, settings(fmt.Sprint("from-", len(reads)), "", "")))
		}))
	}
	reconcile(a, made)
	if spans := w.Spans("write v1/configmaps"); len(spans) > 0 || len(w.Mergelogs()) > 0 {
		t.Errorf("%+v and %v are told", spans, w.Mergelogs())
	}
	reconcile(a)
	if spans := w.Spans("write v1/configmaps"); len(spans) != 1 {
		t.Errorf("%+v are told", spans)
	}
}

// Another writer writes the status, and the informer lags: the answer has a version that is unknown here.
func TestAnApplyThatChangedNothingIsNoneThoughItsAnswerIsNew(t *testing.T) {
	web := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	web.Namespace, web.Name, web.UID, web.ResourceVersion, web.Generation = "default", "web", "u-web", "5", 1
	web.Annotations = map[string]string{cpidOf: first, listOf: ""}
	web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	for _, one := range []struct {
		what    string
		becomes func(*appsv1.Deployment)
		sent    string
		isTold  bool
	}{
		{"another's status", func(d *appsv1.Deployment) {
			d.Status.Replicas, d.ManagedFields = 1, []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager"}}
			d.Annotations["deployment.kubernetes.io/revision"] = "1"
		}, `{"spec":{"paused":false}}`, false},
		{"a spec", func(d *appsv1.Deployment) { d.Generation, d.Spec.Paused = 2, true }, `{"spec":{"paused":true}}`, true},
		{"a spec, there and back", func(d *appsv1.Deployment) { d.Generation = 3 }, `{}`, true},
		{"an annotation", func(d *appsv1.Deployment) { d.Annotations["is"] = "new" }, `{}`, true},
		{"a label", func(d *appsv1.Deployment) { d.Labels = map[string]string{"is": "new"} }, `{}`, true},
		{"a status, which has no subresource", func(d *appsv1.Deployment) { d.Status.Replicas = 1 }, `{"status":{"replicas":1}}`, true},
		{"one version alone", func(*appsv1.Deployment) {}, `{"metadata":{"resourceVersion":"5"}}`, true},
	} {
		t.Run(one.what, func(t *testing.T) {
			now := web.DeepCopy()
			now.ResourceVersion = "6"
			one.becomes(now)
			answer, err := json.Marshal(now)
			must(t, err)
			w := newWorld(t, interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, configuration runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					return json.Unmarshal(answer, configuration)
				},
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
					return json.Unmarshal(answer, object)
				},
			}, settings("a", first, ""))
			w.follow(t, &appsv1.Deployment{}).Add(web)
			sent := &unstructured.Unstructured{}
			must(t, json.Unmarshal([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{}}`), sent))
			must(t, json.Unmarshal([]byte(one.sent), &sent.Object))
			sent.SetName("web")
			sent.SetNamespace("default")
			must(t, w.reconciled(t, func(ctx context.Context) error {
				named := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
				return errors.Join(w.traced.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.ConfigMap{}),
					w.traced.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner("test")),
					w.traced.Patch(ctx, named, client.RawPatch(types.MergePatchType, []byte(one.sent))))
			}))
			if names := w.Names(); one.isTold != slices.Contains(names, "apply apps/v1/deployments") || !one.isTold && len(names) > 0 {
				t.Errorf("the spans are %v", names)
			}
		})
	}
}

// applied applies a ConfigMap in a reconcile that follows from a, and returns the sources of the resulting mergelog.
func (w world) applied(t *testing.T, a string, apply func(context.Context) error) []string {
	t.Helper()
	sent := len(w.Mergelogs())
	must(t, w.reconciled(t, func(ctx context.Context) error {
		return errors.Join(w.traced.Get(ctx, client.ObjectKey{Namespace: "default", Name: a}, &corev1.ConfigMap{}), apply(ctx))
	}))
	var sources []string
	for _, one := range w.Mergelogs()[sent:] {
		sources = append(sources, one.Sources...)
	}
	return sources
}

func TestAnApplyFollowsWhatItOverwrites(t *testing.T) {
	b := settings("b", third, "")
	w := newWorld(t, interceptor.Funcs{}, settings("first", first, ""), settings("second", second, ""), b)
	applies := func(name, value string) func(context.Context) error {
		return func(ctx context.Context) error {
			return w.traced.Apply(ctx, corev1ac.ConfigMap(name, "default").WithData(map[string]string{"key": value}),
				client.FieldOwner("test"), client.ForceOwnership)
		}
	}
	// Without an informer it is what this process wrote last.
	if sources := w.applied(t, "first", applies("c", "1")); len(sources) > 0 {
		t.Errorf("what makes an object comes from %v", sources)
	}
	if sources := w.applied(t, "second", applies("c", "2")); !slices.Equal(sources, []string{second, first}) {
		t.Errorf("what overwrites what was written here comes from %v", sources)
	}
	held := w.follow(t, &corev1.ConfigMap{})
	get(t, w.plain, b)
	held.Add(b)
	if sources := w.applied(t, "first", applies("b", "1")); !slices.Equal(sources, []string{first, third}) {
		t.Fatalf("what overwrites what an informer holds comes from %v", sources)
	}
	made := w.Mergelogs()[len(w.Mergelogs())-1].CPID
	if sources := w.applied(t, "second", func(ctx context.Context) error {
		return w.traced.Patch(ctx, settings("b", "", ""), client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"2"}}`)))
	}); !slices.Equal(sources, []string{second, made}) {
		t.Errorf("what overwrites a later version than an informer holds comes from %v, and not from %s", sources, made)
	}
	held.Delete(b)
	if sources := w.applied(t, "first", applies("b", "3")); len(sources) > 0 {
		t.Errorf("what is made anew comes from %v", sources)
	}
}

func TestAnApplyByPatchIsCalledAnApply(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, settings("first", first, ""))
	w.applied(t, "first", func(ctx context.Context) error {
		d := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}}
		return w.traced.Patch(ctx, d, client.Apply, client.FieldOwner("test")) //lint:ignore SA1019 operators still do
	})
	if names := w.Names(); !slices.Equal(names, []string{"apply v1/configmaps", "reconcile"}) {
		t.Errorf("the spans are %v", names)
	}
}

func TestWhatGoesWithADeleteAllOfIsOfOneChange(t *testing.T) {
	object := func(name, app string) *corev1.ConfigMap {
		one := settings(name, first, "")
		one.UID, one.Labels = types.UID("u-"+name), map[string]string{"app": app}
		return one
	}
	objects := []client.Object{object("a", "shop"), object("b", "shop"), object("c", "shop"), object("other", "blog"), object("late", "shop")}
	late := objects[4].(*corev1.ConfigMap)
	late.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Hour))
	var held *controllertest.FakeInformer
	w := newWorld(t, interceptor.Funcs{
		DeleteAllOf: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.DeleteAllOfOption) error {
			held.Delete(objects[0].(*corev1.ConfigMap)) // An informer is faster than the answer.
			return inner.DeleteAllOf(ctx, object, opts...)
		},
	}, objects[:4]...)
	held = w.follow(t, &corev1.ConfigMap{})
	for _, one := range objects {
		held.Add(one.(*corev1.ConfigMap))
	}
	must(t, w.reconciled(t, func(ctx context.Context) error {
		return w.traced.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"app": "shop"})
	}))
	calls := w.Spans("delete v1/configmaps")
	if len(calls) != 1 {
		t.Fatalf("the deletions are %+v", calls)
	}
	for i, one := range objects {
		if i > 0 {
			held.Delete(one.(*corev1.ConfigMap))
		}
		want := calls[0].CPID
		if i > 2 {
			want = cpid.DerivedRoot("mine", string(one.GetUID()), one.GetResourceVersion())
		}
		if got := w.madeFor(t, one, fmt.Sprint("for-", one.GetName())); got != want {
			t.Errorf("what follows from the end of %s is of %s, not of %s", one.GetName(), got, want)
		}
	}
	if begun := w.Mergelogs(); len(begun) != 3 {
		t.Errorf("the changes are %+v", begun)
	}
}
