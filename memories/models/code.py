from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from memories.models.config import SingleRow
from memories.models.memory import Memory, new_id
from memories.models.scopes import Scope
from memories.querysets import CodeLookQuerySet, RepositoryQuerySet

NAME = RegexValidator(r"^[\w][\w.-]{0,79}\Z", "Use letters, digits, dots, dashes and underscores.")


class Repository(models.Model):
    """A working tree on the server's machine that anchors of these scopes may name. Nothing in it is ever written."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="repositories")
    name = models.CharField(max_length=80, validators=[NAME])
    path = models.CharField(max_length=4000, help_text="The folder, from the root of the server's file system.")
    scopes = models.ManyToManyField(Scope, related_name="repositories")
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True, help_text="When it was last looked into with success.")

    objects = RepositoryQuerySet.as_manager()

    class Meta:
        db_table = "code_repository"
        verbose_name_plural = "repositories"
        constraints = [
            models.UniqueConstraint(Lower("name"), name="repository_name_unique"),
            models.CheckConstraint(condition=~Q(path="") & ~Q(name=""), name="repository_named_and_placed"),
        ]

    def __str__(self) -> str:
        return self.name


class Anchor(models.Model):
    """The code that a memory is about, as it was when somebody last said that the memory holds for it.

    ``repository`` names a Repository, which need not be registered here. ``symbol`` is a qualified name, empty for the
    whole file. ``code`` is the text then: that of the symbol, or of the file where ``whole_file``, because the symbol
    cannot be read without it. No verdict is stored: it is found anew each time, from the code as it is.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="anchors", db_index=False)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="+")
    repository = models.CharField(max_length=80)
    path = models.CharField(max_length=1000)
    symbol = models.CharField(max_length=500, blank=True, default="")
    language = models.CharField(max_length=20)
    exact = models.CharField(max_length=100)
    masked = models.CharField(max_length=100, blank=True, default="")
    had_twins = models.BooleanField(default=False, help_text="Another symbol of the file said the same.")
    code = models.TextField(blank=True, default="")
    code_sha256 = models.CharField(max_length=64, help_text="Of the symbol's text, with line feeds at its ends.")
    whole_file = models.BooleanField(default=False)
    revision = models.CharField(max_length=64, blank=True, default="", help_text="The commit that was checked out.")
    created_at = models.DateTimeField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    actor = models.CharField(max_length=200)
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_actor = models.CharField(max_length=200, blank=True, default="")
    retired_reason = models.CharField(max_length=2000, blank=True, default="")

    class Meta:
        db_table = "memory_anchor"
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "repository", "path", "symbol"],
                condition=Q(retired_at=None),
                name="anchor_place_once",
            ),
            models.CheckConstraint(condition=~Q(repository="") & ~Q(path=""), name="anchor_placed"),
            models.CheckConstraint(
                condition=Q(retired_at=None, retired_actor="") | (Q(retired_at__isnull=False) & ~Q(retired_actor="")),
                name="anchor_retired_by_somebody",
            ),
        ]
        indexes = [
            models.Index(fields=["memory"], condition=Q(retired_at=None), name="anchor_in_force"),
            models.Index(fields=["repository", "path"], condition=Q(retired_at=None), name="anchor_by_place"),
            models.Index(fields=["memory", "created_at"], name="anchor_history"),
        ]

    def __str__(self) -> str:
        return f"{self.repository}:{self.path}" + (f"#{self.symbol}" if self.symbol else "")


class CodeLook(models.Model):
    """What the last look of the hygiene cycle found of a repository's anchors in a scope, to be counted and told of. No
    verdict is taken from it: that is found anew each time.

    ``verdicts`` counts the anchors by verdict, those that the time did not suffice for as ``unread``. ``memories`` are
    those whose code could be read, ``stale`` those of them whose code changed or is gone, ``held`` those of which
    nobody is asked until a person says so.
    """

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+")
    repository = models.CharField(max_length=80)
    at = models.DateTimeField()
    verdicts = models.JSONField(default=dict)
    memories = models.PositiveIntegerField(default=0)
    stale = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)

    objects = CodeLookQuerySet.as_manager()

    class Meta:
        db_table = "code_look"
        constraints = [
            models.UniqueConstraint("scope", Lower("repository"), name="code_look_once"),
            models.CheckConstraint(
                condition=Q(stale__lte=F("memories"), held__lte=F("stale")), name="code_look_counts_add_up"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.repository}, {self.at:%Y-%m-%d}"


class CodeConfig(SingleRow):
    """The single row of what a change of code does. A missing row behaves as the defaults."""

    changed_factor = models.FloatField(
        default=0.15, help_text="Factor on the score where the code changed or is gone, above 0 and at most 1."
    )

    class Meta:
        db_table = "code_config"
        verbose_name = verbose_name_plural = "code configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="code_config_single_row"),
            models.CheckConstraint(
                condition=Q(changed_factor__gt=0, changed_factor__lte=1), name="code_config_factor_sane"
            ),
        ]

    def __str__(self) -> str:
        return "Code"
